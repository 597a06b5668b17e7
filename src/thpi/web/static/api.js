// Calls to the server. An answer that is not a success becomes an Error with the server's own message.

let token = sessionStorage.getItem("thpi-token") || "";

export class TokenNeeded extends Error {}

export function useToken(text) {
  token = text;
  sessionStorage.setItem("thpi-token", text);
}

async function call(address, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(address, { ...options, headers });
  } catch {
    throw new Error("The server does not answer.");
  }
  if (answer.ok) return answer;
  let message = `The server answered ${answer.status}.`;
  try {
    message = (await answer.json()).error || message;
  } catch { /* not JSON: the status must do */ }
  throw answer.status === 401 ? new TokenNeeded(message) : new Error(message);
}

export const get = async (address) => (await call(address)).json();

export async function search(asked) {
  const headers = { "content-type": "application/json" };
  return (await call("search", { method: "POST", body: JSON.stringify(asked), headers })).json();
}

// An <img> cannot send a token; with one the picture is fetched and shown from memory.
export async function showPicture(image, id) {
  const address = `items/${encodeURIComponent(id)}/picture`;
  if (!token) {
    image.src = address;
    return;
  }
  try {
    image.src = URL.createObjectURL(await (await call(address)).blob());
    image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
  } catch { /* the picture stays empty, its name is shown */ }
}
