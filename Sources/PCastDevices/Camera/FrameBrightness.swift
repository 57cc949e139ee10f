import PCastCore

/// The brightness of a frame.
enum FrameBrightness {
    /// The distance of the sampled pixels in each direction. Every 16th pixel is enough for a mean and takes
    /// microseconds.
    private static let step = 16

    /// Returns the mean brightness from 0 for black to 1 for white.
    static func mean(of frame: VideoFrame) -> Double {
        var (sum, count) = (0, 0)
        for row in stride(from: step / 2, to: frame.dimensions.height, by: step) {
            let pixels = frame.planeY + row * frame.strideY
            for column in stride(from: step / 2, to: frame.dimensions.width, by: step) {
                sum += Int(pixels[column])
                count += 1
            }
        }
        guard count > 0 else { return 0.5 }
        return min(max((Double(sum) / Double(count) - 16) / 219, 0), 1)
    }
}
