// The Share page works without this file: tabs are links, the message has a Save button.
import '../../copy.js';
import './embed.js';
import './message.js';
import './tabs.js';
