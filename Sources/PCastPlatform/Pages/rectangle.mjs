// The rectangle that a video occupies on a page: a part of /pcast.mjs.
// @ts-check

/**
 * Returns the rectangle of the frame within a video element in pixels, as `object-fit` and `object-position` place it.
 * @param {HTMLVideoElement} video
 */
export function frameRectangle(video) {
  const box = { width: video.clientWidth, height: video.clientHeight };
  const frame = { width: video.videoWidth || box.width, height: video.videoHeight || box.height };
  const { objectFit, objectPosition } = getComputedStyle(video);
  const scales = [box.width / frame.width, box.height / frame.height];
  const contain = Math.min(...scales);
  /** @type {Record<string, number[]>} */
  const factors = {
    fill: scales, cover: [Math.max(...scales), Math.max(...scales)], none: [1, 1],
    "scale-down": [Math.min(1, contain), Math.min(1, contain)],
  };
  const [x, y] = factors[objectFit] ?? [contain, contain];
  const [width, height] = [frame.width * (x || 0), frame.height * (y || 0)];
  const [left, top] = [box.width - width, box.height - height].map((space, index) => {
    const value = objectPosition.split(" ")[index] ?? "50%";
    return value.endsWith("%") ? (space * parseFloat(value)) / 100 : parseFloat(value) || 0;
  });
  return { left: video.clientLeft + left, top: video.clientTop + top, width, height };
}

/**
 * Puts an element over the frame of a video, and keeps it there. It becomes the next sibling of the video.
 * @param {HTMLVideoElement} video
 * @param {HTMLElement} element
 * @returns {() => void} a function that ends it
 */
export function followRectangle(video, element) {
  const abort = new AbortController();
  const place = () => {
    // The offsets do not contain the transform of the video, so that the element stays where the whole video would be.
    const { left, top, width, height } = frameRectangle(video);
    Object.assign(element.style, {
      position: "absolute", left: `${video.offsetLeft + left}px`, top: `${video.offsetTop + top}px`,
      width: `${width}px`, height: `${height}px`, maxWidth: "none",
    });
  };
  video.after(element);
  place();
  const observer = new ResizeObserver(place);
  observer.observe(video);
  // The video moves when what surrounds it changes.
  if (video.parentElement) observer.observe(video.parentElement);
  observer.observe(document.documentElement);
  for (const type of ["resize", "loadedmetadata"]) video.addEventListener(type, place, { signal: abort.signal });
  document.addEventListener("fullscreenchange", place, { signal: abort.signal });
  return () => {
    abort.abort();
    observer.disconnect();
  };
}

/**
 * Draws a video smaller, around a fixed point (docs/OVERLAY.md); null restores it.
 * @param {HTMLVideoElement} video
 * @param {Record<string, any> | null} scale `{ scaleX, scaleY, pivotX, pivotY, scaleDuration }`
 * @returns {boolean} whether the values are valid
 */
export function scaleVideo(video, scale) {
  if (scale === null) {
    Object.assign(video.style, { transform: "", transformOrigin: "", transition: "" });
    return true;
  }
  const { scaleX, scaleY, pivotX, pivotY, scaleDuration } = scale;
  if (![scaleX, scaleY, pivotX, pivotY].every((value) => value >= 0 && value <= 1)) return false;
  if (!Number.isInteger(scaleDuration) || scaleDuration < 0 || scaleDuration > 60_000) return false;
  const { left, top, width, height } = frameRectangle(video);
  Object.assign(video.style, {
    transition: `transform ${scaleDuration}ms ease-in-out`,
    transformOrigin: `${left + pivotX * width}px ${top + pivotY * height}px`,
    transform: scaleX === 1 && scaleY === 1 ? "none" : `scale(${scaleX}, ${scaleY})`,
  });
  return true;
}
