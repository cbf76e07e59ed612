// A piece is built when it is first unfolded.
function pieces() {
  const builders = { curves, memory, neurons, quadrature, runs, seeds };
  for (const details of document.querySelectorAll("details.explore")) {
    details.hidden = false;
    const build = () => builders[details.dataset.piece](details.querySelector(".piece"), JSON.parse(details.querySelector("script").textContent));
    details.addEventListener("toggle", build, { once: true });
  }
}

// On a narrow screen a picture that goes on to the right fades out there, until its end is reached.
function fade() {
  const look = ({ target }) => target.classList.toggle("slides", target.scrollWidth - target.clientWidth - target.scrollLeft > 8);
  const watch = new ResizeObserver((entries) => entries.forEach(look));
  for (const picture of document.querySelectorAll(".picture")) {
    watch.observe(picture);
    picture.addEventListener("scroll", look, { passive: true });
  }
}

claims();
crossover();
fade();
downloads();
pieces();
goTo();
askForRuns();
addEventListener("hashchange", goTo);
addEventListener("hashchange", askForRuns);
