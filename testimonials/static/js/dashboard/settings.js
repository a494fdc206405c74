// Redirect anchors of the old long page to the pages that replaced it.
const moved = {
  'api-key': 'settings/developers', checklist: 'inbox', delete: 'settings/delete', domain: 'settings/domain',
  notifications: 'settings/mail', rated: 'settings/stars', team: 'people', address: 'settings/address',
};
const to = moved[location.hash.slice(1)];
if (to) location.replace(new URL(to, location.href));
