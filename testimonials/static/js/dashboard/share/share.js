// The Share page works without this file: the message has a Save button.
import '../../copy.js';
import './message.js';
