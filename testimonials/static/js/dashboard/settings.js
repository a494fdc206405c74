// The parts of the former long page are pages of their own: addresses with their names lead there.
const moved = {
  'api-key': 'settings/developers', checklist: 'inbox', delete: 'settings/delete', domain: 'settings/domain',
  notifications: 'settings/mail', rated: 'settings/stars', team: 'people', address: 'settings/address',
};
const to = moved[location.hash.slice(1)];
if (to) location.replace(new URL(to, location.href));
