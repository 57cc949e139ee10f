import PCastCore

/// The test pattern in files that programs wrote.
extension MediaFile {
    /// Returns the contents of the time strips of all frames; nil for a frame without a strip. Frames are read with the
    /// given size, whose width must be a multiple of 64.
    func stamps(width: Int = 640, height: Int = 360) async throws -> [TestPatternStamp?] {
        let frames = try await frames(
            width: width, height: height, format: "yuv420p", byteCount: width * height * 3 / 2)
        return frames.map { Self.stamp($0, Dimensions(width: width, height: height)) }
    }

    private static func stamp(_ bytes: ArraySlice<UInt8>, _ dimensions: Dimensions) -> TestPatternStamp? {
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: VideoFrame.layout(dimensions).byteCount, alignment: 32)
        let frame = VideoFrame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video), memory: memory
        ) { $0.deallocate() }
        for row in 0..<dimensions.height {
            for column in 0..<dimensions.width {
                frame.planeY[row * frame.strideY + column] = bytes[bytes.startIndex + row * dimensions.width + column]
            }
        }
        return TestPatternStrip.read(frame)
    }
}
