// Puts what the server says into the page: parts that are as they were stay, so that nothing flickers or closes.
"use strict";
const main = document.getElementById("main");
const events = new EventSource("/events");
events.onmessage = (message) => {
  const next = document.createElement("template");
  next.innerHTML = message.data;
  const before = Array.from(main.children);
  const after = Array.from(next.content.children);
  after.forEach((part, i) => {
    if (i >= before.length) main.appendChild(part);
    else if (before[i].outerHTML !== part.outerHTML) {
      const open = before[i].querySelector("details[open]");
      const details = part.querySelector("details");
      if (open && details) details.open = true;
      before[i].replaceWith(part);
    }
  });
  before.slice(after.length).forEach((part) => part.remove());
  const title = main.querySelector("h1");
  if (title) document.title = title.textContent;
  document.documentElement.dataset.version = message.lastEventId;
};
events.onerror = () => { document.documentElement.dataset.state = "cut off"; };
events.onopen = () => { document.documentElement.dataset.state = "live"; };
