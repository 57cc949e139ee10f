import PCastCore
import Testing

@testable import PCastCodecs

struct FrameSqueezerTests {
    @Test(
        "a frame is drawn into its rectangle, and everything else is black",
        arguments: [(320, 180), (321, 181), (64, 36)])
    func place(width: Int, height: Int) {
        let pool = VideoFramePool()
        let frame = pool.frame(
            dimensions: Dimensions(width: width, height: height), captureTime: nil,
            timestamp: MediaTime(ticks: 7, rate: .video))
        frame.planeY.update(repeating: 200, count: frame.strideY * height)
        frame.planeU.update(repeating: 90, count: frame.strideUV * ((height + 1) / 2))
        frame.planeV.update(repeating: 160, count: frame.strideUV * ((height + 1) / 2))
        let squeezer = SqueezeBackScaler()
        let target = FrameRectangle(x: width / 2, y: 0, width: width / 2, height: height / 2)
        let squeezed = squeezer.draw(frame, into: target)
        #expect(squeezed.dimensions == frame.dimensions && squeezed.timestamp == frame.timestamp)
        let (left, bottom) = (target.x & ~1, target.height & ~1)
        let right = left + (target.width & ~1)
        for row in 0..<height {
            for column in 0..<width {
                let isInside = column >= left && column < right && row < bottom
                #expect(squeezed.planeY[row * squeezed.strideY + column] == (isInside ? 200 : 16))
            }
        }
        #expect(squeezed.planeU[left / 2] == 90 && squeezed.planeV[left / 2] == 160 && squeezed.planeU[0] == 128)
        // Rectangles beyond the frame, and empty ones.
        for odd in [
            FrameRectangle(x: -5, y: -5, width: 5_000, height: 5_000),
            FrameRectangle(x: width + 9, y: 0, width: 10, height: 10),
            FrameRectangle(x: 0, y: 0, width: 0, height: 9),
            FrameRectangle(x: 0, y: 0, width: -4, height: 9),
        ] { #expect(squeezer.draw(frame, into: odd).dimensions == frame.dimensions) }
    }
}
