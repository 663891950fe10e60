// The connection to the server: questions by fetch, and one WebSocket for acts and news.
const token = document.documentElement.dataset.token;

const address = (what, query = {}) => `/${token}/${what}?${new URLSearchParams(query)}`;

const asked = async (what, query, options) => {
  const answer = await fetch(address(what, query), options);
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
};

export const json = async (what, query) => (await asked(what, query)).json();
export const binary = async (what, query) => {
  const answer = await asked(what, query), about = answer.headers.get("X-About");
  return { buffer: await answer.arrayBuffer(), about: about && JSON.parse(about) };
};
export const posted = (what, query, body) => asked(what, query, { method: "POST", body });
export const picture = (query) => address("picture", query);

// Hands each message to `hear`, bytes to `take`, and says by `gone` whether the server is out of reach; it comes back by itself.
export const connect = (hear, take, gone) => {
  let socket, tries = 0;
  const open = () => {
    socket = new WebSocket(`ws://${location.host}/${token}/live`);
    socket.addEventListener("open", () => { tries = 0; gone(false); });
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) => (typeof data === "string" ? hear(JSON.parse(data)) : take(data)));
    socket.addEventListener("close", () => { gone(true); setTimeout(open, Math.min(5000, 300 * 2 ** tries++)); });
  };
  open();
  return (message) => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };
};
