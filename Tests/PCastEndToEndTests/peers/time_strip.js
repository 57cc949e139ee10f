// Runs before the scripts of a page, so that a test can read the time strip of the test pattern.
(() => {
  const context = new OffscreenCanvas(64, 1).getContext("2d", { willReadFrequently: true });

  /**
   * Reads the time strip in the frame that a video shows: 64 cells with a counter, 40 bits of UTC milliseconds and a
   * CRC-8. Returns the counter and the milliseconds; null if the strip cannot be read.
   */
  window.pcastReadStrip = (video) => {
    const height = Math.max(16, Math.floor(video.videoHeight / 18));
    context.drawImage(video, 0, height / 4, video.videoWidth, height / 2, 0, 0, 64, 1);
    const pixels = context.getImageData(0, 0, 64, 1).data;
    const bytes = Array.from({ length: 8 }, (_, at) =>
      Array.from({ length: 8 }, (_, bit) => +(pixels[4 * (8 * at + bit) + 1] > 127)).reduce((a, b) => 2 * a + b));
    let check = 0;
    for (const byte of bytes.slice(0, 7)) {
      check ^= byte;
      for (let bit = 0; bit < 8; bit += 1) check = check & 0x80 ? ((check << 1) ^ 0x07) & 0xff : check << 1;
    }
    if (check !== bytes[7]) return null;
    const milliseconds = bytes.slice(2, 7).reduce((sum, byte) => sum * 256 + byte, 0);
    return { number: bytes[0] * 256 + bytes[1], milliseconds };
  };
})();
