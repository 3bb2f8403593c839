"use strict";
// Before the first paint: the theme the user chose, else the system's.
(function () {
  let chosen = null;
  try { chosen = localStorage.getItem("unmask-theme"); } catch { /* storage may be forbidden */ }
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const set = () => {
    document.documentElement.dataset.theme = chosen || (dark.matches ? "dark" : "light");
    document.dispatchEvent(new Event("theme"));
  };
  dark.addEventListener("change", set);
  set();
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const name = () => {
      button.textContent = document.documentElement.dataset.theme === "dark" ? "Light" : "Dark";
    };
    button.addEventListener("click", () => {
      chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("unmask-theme", chosen); } catch { /* then it lasts for this page */ }
      set();
    });
    document.addEventListener("theme", name);
    name();
  });
})();
