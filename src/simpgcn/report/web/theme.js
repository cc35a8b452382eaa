// Light and dark: as the system has it, until the button says otherwise.

const systemDark = matchMedia("(prefers-color-scheme: dark)");

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemDark.matches;
};

function onTheme(changed) {
  document.getElementById("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    changed();
  });
  systemDark.addEventListener("change", changed);
}

// What a CSS variable stands for under the present theme.
function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
