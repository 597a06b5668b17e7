// Arrow keys among the buttons of a container: one of them is in the tab order, the arrows move to its neighbours.

export function arrowKeys(container) {
  const buttons = () => [...container.querySelectorAll("button")];
  const enter = (button) => buttons().forEach((other) => { other.tabIndex = other === button ? 0 : -1; });
  container.addEventListener("focusin", (event) => { if (event.target.matches("button")) enter(event.target); });
  container.addEventListener("keydown", (event) => {
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!direction && event.key !== "Home" && event.key !== "End") return;
    const all = buttons();
    const next = direction ? neighbour(event.target, all, direction) : all.at(event.key === "Home" ? 0 : -1);
    event.preventDefault();
    if (next) next.focus();
  });
  return () => { const all = buttons(); if (all.length && !all.some((b) => b.tabIndex === 0)) all[0].tabIndex = 0; };
}

function neighbour(from, all, [dx, dy]) {
  const centre = (button) => {
    const box = button.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const [x, y] = centre(from);
  let [nearest, least] = [null, Infinity];
  for (const button of all) {
    const [bx, by] = centre(button);
    const along = (bx - x) * dx + (by - y) * dy;
    if (along < 2) continue;
    const cost = along + 4 * Math.abs((bx - x) * dy + (by - y) * dx);
    if (cost < least) [nearest, least] = [button, cost];
  }
  return nearest;
}
