// What both pages are made of: elements, pictures, errors.

import { showPicture, TokenNeeded } from "./api.js";

export const byId = (id) => document.getElementById(id);

// Every element with text from data is made here: text is set as text, so no name can become markup.
export function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined && text !== null) made.textContent = text;
  return made;
}

export function picture(item) {
  const image = element("img");
  image.alt = "";
  image.loading = "lazy";
  // Scans of a few pixels are drawn as squares, bright ink on black; drawings that are merely narrow are not.
  const size = () => Math.max(image.naturalWidth, image.naturalHeight);
  image.addEventListener("load", () => image.classList.toggle("pixels", size() < 24));
  showPicture(image, item.id);
  return image;
}

export function tell(place, error) {
  byId(place).hidden = !error;
  byId(place).textContent = error ? error.message : "";
  if (error instanceof TokenNeeded) {
    byId("token-form").hidden = false;
    byId("token").focus();
  }
}

// Errors of an action are told at the top of the page.
export function guarded(action) {
  return async (...values) => {
    try {
      await action(...values);
    } catch (error) {
      tell("error", error);
    }
  };
}
