import PCastCodecs
import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastRendering

/// A surface that records the frames that it shows.
final class RememberingSurface: RenderSurface {
    private let shown = Mutex<[VideoFrame]>([])
    private let lying = Mutex(FrameArrangement())
    private let received = SurfaceEvents()

    var frames: [VideoFrame] { shown.withLock { $0 } }

    func show(_ frame: VideoFrame) { shown.withLock { $0.append(frame) } }

    var arrangement: FrameArrangement {
        get { lying.withLock { $0 } }
        set { lying.withLock { $0 = newValue } }
    }

    var statistics: SurfaceStatistics { SurfaceStatistics() }

    var events: AsyncStream<SurfaceEvent> { received.read() }

    /// Waits until it has shown this many frames. Returns nil after two minutes.
    func frames(_ count: Int) -> [VideoFrame]? {
        let deadline = MonotonicClock.now() + .seconds(120)
        while MonotonicClock.now() < deadline {
            let frames = frames
            if frames.count >= count { return frames }
            FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(2))
        }
        return nil
    }
}

@Suite("Applications can change frames before they are shown")
struct FrameNotificationTests {
    private func renderer(_ surface: RememberingSurface) throws -> StreamRenderer {
        let renderer = try StreamRenderer(options: StreamRendererOptions(synchronization: .immediate))
        renderer.surface = surface
        return renderer
    }

    private func colour(_ frame: VideoFrame) throws -> UInt32 {
        let pixels = try PixelBuffer(frame, format: .bgra)
        let index = pixels.dimensions.height / 2 * pixels.stride + pixels.dimensions.width / 2 * 4
        return UInt32(pixels.bytes[index + 2]) << 16 | UInt32(pixels.bytes[index + 1]) << 8
            | UInt32(pixels.bytes[index])
    }

    @Test("a frame that is only read is shown unchanged", arguments: PixelBuffer.Format.allCases)
    func read(format: PixelBuffer.Format) throws {
        let surface = RememberingSurface()
        let renderer = try renderer(surface)
        defer { renderer.stop() }
        let seen = Mutex<PixelBuffer?>(nil)
        renderer.setFrameReadyCallback { notification in seen.withLock { $0 = try? notification.read(format) } }
        let frame = try Colours.plain(Colours.green)
        renderer.push(frame)
        let shown = try #require(surface.frames(1))
        #expect(shown[0] === frame)
        #expect(seen.withLock { $0?.dimensions } == frame.dimensions)
    }

    @Test("a frame that is read in a format and written back is the same frame", arguments: PixelBuffer.Format.allCases)
    func written(format: PixelBuffer.Format) throws {
        let surface = RememberingSurface()
        let renderer = try renderer(surface)
        defer { renderer.stop() }
        renderer.setFrameReadyCallback { notification in
            guard let pixels = try? notification.read(format) else { return notification.drop() }
            do { try notification.write(pixels) } catch { notification.drop() }
        }
        let frame = try Colours.quarters()
        renderer.push(frame)
        let shown = try #require(surface.frames(1))[0]
        #expect(shown !== frame)
        #expect(shown.dimensions == frame.dimensions && shown.timestamp == frame.timestamp)
        for (x, y) in [(10, 10), (300, 10), (10, 170), (300, 170)] {
            let offset = y * frame.strideY + x
            #expect(abs(Int(shown.planeY[offset]) - Int(frame.planeY[offset])) <= 3)
        }
    }

    @Test("a replacement of another size is shown, and its dimensions are reported")
    func replaced() throws {
        let surface = RememberingSurface()
        let sizes = Mutex<[Dimensions]>([])
        let renderer = try StreamRenderer(
            options: StreamRendererOptions(synchronization: .immediate),
            callbacks: RendererCallbacks(onDimensions: { size in sizes.withLock { $0.append(size) } }))
        defer { renderer.stop() }
        renderer.surface = surface
        let other = try Colours.plain(Colours.red, Dimensions(width: 64, height: 48))
        renderer.setFrameReadyCallback { $0.write(other) }
        renderer.push(try Colours.plain(Colours.green))
        let shown = try #require(surface.frames(1))[0]
        #expect(Colours.areNear(try colour(shown), Colours.red))
        // The dimensions are reported after the frame is shown, and the renderer's thread has ended after a stop.
        renderer.stop()
        #expect(sizes.withLock { $0 } == [Dimensions(width: 64, height: 48)])
        #expect(renderer.lastFrame?.dimensions == Dimensions(width: 64, height: 48))
    }

    @Test("a frame that the application drops is not shown, and does not count as lost")
    func dropped() throws {
        let surface = RememberingSurface()
        let renderer = try renderer(surface)
        defer { renderer.stop() }
        let count = Mutex(0)
        renderer.setFrameReadyCallback { notification in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { notification.drop() }
        }
        renderer.push(try Colours.plain(Colours.green))
        while count.withLock({ $0 }) == 0 { FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(1)) }
        renderer.push(try Colours.plain(Colours.blue))
        let shown = try #require(surface.frames(1))
        #expect(Colours.areNear(try colour(shown[0]), Colours.blue))
        #expect(renderer.statistics().framesDropped == 0)
    }

    @Test("too few pixels are rejected, and the frame is shown unchanged")
    func tooFew() throws {
        let surface = RememberingSurface()
        let renderer = try renderer(surface)
        defer { renderer.stop() }
        let refused = Mutex(false)
        renderer.setFrameReadyCallback { notification in
            let few = PixelBuffer(format: .nv12, dimensions: Dimensions(width: 320, height: 180), bytes: [1, 2, 3])
            do { try notification.write(few) } catch { refused.withLock { $0 = true } }
        }
        renderer.push(try Colours.plain(Colours.white))
        let shown = try #require(surface.frames(1))
        #expect(refused.withLock { $0 })
        #expect(Colours.areNear(try colour(shown[0]), Colours.white))
    }

    @Test("a surface that is set later shows the last frame at once")
    func laterSurface() throws {
        let first = RememberingSurface()
        let renderer = try renderer(first)
        defer { renderer.stop() }
        renderer.push(try Colours.plain(Colours.white))
        _ = try #require(first.frames(1))
        let second = RememberingSurface()
        renderer.surface = second
        #expect(second.frames.count == 1)
        renderer.surface = nil
        #expect(renderer.lastFrame === first.frames[0])
    }

    @Test("colors of BT.709 are drawn by BT.709")
    func matrix() throws {
        let grey = try Colours.plain(Colours.green)
        let same = VideoFrame(
            dimensions: grey.dimensions, captureTime: nil, timestamp: grey.timestamp, color: .bt709,
            memory: grey.memory, release: { _ in _ = grey })
        let (by601, by709) = (try colour(grey), try colour(same))
        #expect(Colours.areNear(by601, Colours.green))
        #expect(!Colours.areNear(by709, Colours.green))
        // BT.601's green has the brightness 145 and the colors 54 and 34. By the coefficients of BT.709 (H.273), R is
        // negative, and G is 1.164 · 129 − 0.213 · (54 − 128) − 0.533 · (34 − 128) = 216.
        #expect(by709 >> 16 == 0 && (200...232).contains(by709 >> 8 & 0xFF))
    }
}

/// Frames of a few colors, for tests that check how they are drawn.
enum Colours {
    static let red: UInt32 = 0xFF0000
    static let green: UInt32 = 0x00FF00
    static let blue: UInt32 = 0x0000FF
    static let white: UInt32 = 0xFFFFFF

    /// Returns a frame with red and green above blue and white.
    static func quarters(_ dimensions: Dimensions = Dimensions(width: 320, height: 180)) throws -> VideoFrame {
        try frame(dimensions) { x, y in
            let isRight = x >= dimensions.width / 2
            if y < dimensions.height / 2 { return isRight ? green : red }
            return isRight ? white : blue
        }
    }

    static func plain(_ colour: UInt32, _ dimensions: Dimensions = Dimensions(width: 320, height: 180)) throws
        -> VideoFrame
    {
        try frame(dimensions) { _, _ in colour }
    }

    static func frame(_ dimensions: Dimensions, _ colour: (Int, Int) -> UInt32) throws -> VideoFrame {
        var bytes: [UInt8] = []
        for y in 0..<dimensions.height {
            for x in 0..<dimensions.width {
                let value = colour(x, y)
                bytes += [
                    UInt8(value & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value >> 16 & 0xFF), 255,
                ]
            }
        }
        return try bytes.withUnsafeBytes {
            try RawFrameConverter().convert(
                $0, format: .bgra, dimensions: dimensions, isFullRange: true, captureTime: nil,
                timestamp: MediaTime(ticks: 0, rate: .video))
        }
    }

    /// Returns whether two colors look the same. Coding in 4:2:0 and back changes them slightly.
    static func areNear(_ one: UInt32, _ other: UInt32, within limit: Int = 12) -> Bool {
        [UInt32(0), 8, 16].allSatisfy { shift in
            abs(Int(one >> shift & 0xFF) - Int(other >> shift & 0xFF)) <= limit
        }
    }
}
