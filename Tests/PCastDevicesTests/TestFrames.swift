import PCastCore

/// Frames for tests.
enum TestFrames {
    static func empty(_ dimensions: Dimensions, luma: UInt8 = 16) -> VideoFrame {
        let byteCount = VideoFrame.layout(dimensions).byteCount
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: luma)
        return VideoFrame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video), memory: memory,
            release: { $0.deallocate() })
    }

    /// Changes every luma sample randomly by at most `amount`. The numbers depend on the seed only.
    static func addNoise(to frame: VideoFrame, amount: Int, seed: UInt64) {
        var state = seed
        for row in 0..<frame.dimensions.height {
            for column in 0..<frame.dimensions.width {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let change = Int(state >> 33) % (2 * amount + 1) - amount
                let index = row * frame.strideY + column
                frame.planeY[index] = UInt8(min(max(Int(frame.planeY[index]) + change, 0), 255))
            }
        }
    }

    /// Returns the luma at the center.
    static func middle(of frame: VideoFrame) -> UInt8 {
        frame.planeY[frame.dimensions.height / 2 * frame.strideY + frame.dimensions.width / 2]
    }
}
