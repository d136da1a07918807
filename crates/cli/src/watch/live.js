// Puts what the server says into the page: parts that are as they were stay, so that nothing flickers or closes.
"use strict";
const main = document.getElementById("main");
const root = document.documentElement;
// As the server sent them: what a reader has opened since is no difference.
const sent = new WeakMap();
for (const part of main.children) sent.set(part, part.outerHTML);
const events = new EventSource("/events");
events.onmessage = (message) => {
  const next = document.createElement("template");
  next.innerHTML = message.data;
  const before = Array.from(main.children);
  const after = Array.from(next.content.children);
  after.forEach((part, i) => {
    sent.set(part, part.outerHTML);
    if (i >= before.length) main.appendChild(part);
    else if (sent.get(before[i]) !== sent.get(part)) before[i].replaceWith(part);
  });
  before.slice(after.length).forEach((part) => part.remove());
  const title = main.querySelector("h1");
  if (title) document.title = title.textContent;
};
events.onopen = () => { root.dataset.state = "live"; };
events.onerror = () => { root.dataset.state = "cut off"; };
