import Dispatch
import Foundation
import PCastCodecs
import PCastCore
import PCastOverlay
import Synchronization
import Testing

@testable import PCastPlayback

@Suite("Frames that make room for an overlay")
struct FrameCompositionTests {
    private static func player(_ composition: FrameComposition) -> Player {
        Player(
            PipelineFactory(
                composition: composition,
                { source, _ throws(PlaybackError) in throw .notPlayable(source.name, reason: "nothing is played") },
                preloading: { _ in nil }))
    }

    @Test("a surface may call the player while it shows a frame, even if the frame is moved meanwhile")
    func screenAsks() {
        let half = Self.wide(0.5)
        let asking = Mutex<Player?>(nil)
        let sent = DispatchSemaphore(value: 0)
        let outcomes = Mutex<[DispatchTimeoutResult]>([])
        let composition = FrameComposition { _ in
            // Only the first frame does so.
            guard let player = asking.withLock({ $0.take() }) else { return }
            DispatchQueue.global().async {
                player.setVideoScale(half)
                sent.signal()
            }
            let outcome = sent.wait(timeout: .now() + 90)
            outcomes.withLock { $0.append(outcome) }
            if outcome == .success { _ = player.playhead }
        }
        let player = Self.player(composition)
        asking.withLock { $0 = player }
        composition.show(Self.white)
        #expect(outcomes.withLock { $0 } == [.success])
        #expect(player.videoScale == half)
    }

    @Test("a frame that is moved repeatedly arrives at its last destination", .timeLimit(.minutes(5)))
    func lastWins() async {
        let drawn = ChangeSignal()
        let width = Mutex(0)
        let composition = FrameComposition { frame in
            let white = (0..<frame.dimensions.width).count { frame.planeY[$0] > 100 }
            width.withLock { $0 = white }
            drawn.raise()
        }
        let player = Self.player(composition)
        composition.show(Self.white)
        for round in 1...100 {
            for number in 0..<20 { player.setVideoScale(Self.wide(Double(number % 3 + 1) / 4)) }
            let last = round % 2 == 0 ? 40 : 24
            player.setVideoScale(Self.wide(Double(last) / 64))
            while true {
                let count = drawn.count
                if width.withLock({ $0 }) == last { break }
                await drawn.wait(since: count)
            }
        }
    }

    @Test(
        "the displayed frame of a player is the scaled one, also for a surface that asks for it",
        .timeLimit(.minutes(5)))
    func displayed() async {
        let drawn = ChangeSignal()
        let asking = Mutex<Player?>(nil)
        let widths = Mutex<[Int?]>([])
        @Sendable func width(of frame: VideoFrame?) -> Int? {
            frame.map { frame in (0..<frame.dimensions.width).count { frame.planeY[$0] > 100 } }
        }
        let composition = FrameComposition { _ in
            let seen = width(of: asking.withLock { $0 }?.displayedFrame)
            widths.withLock { $0.append(seen) }
            drawn.raise()
        }
        let player = Self.player(composition)
        asking.withLock { $0 = player }
        #expect(player.displayedFrame == nil)
        composition.show(Self.white)
        #expect(width(of: player.displayedFrame) == 64)
        player.setVideoScale(Self.wide(0.5))
        while true {
            let count = drawn.count
            if widths.withLock({ $0.last }) == 32 { break }
            await drawn.wait(since: count)
        }
        #expect(width(of: player.displayedFrame) == 32)
        asking.withLock { $0 = nil }
    }

    @Test("a scaled frame is drawn over the background, also while it is a still picture", .timeLimit(.minutes(5)))
    func background() async throws {
        let drawn = ChangeSignal()
        let composition = FrameComposition { _ in drawn.raise() }
        let player = Self.player(composition)
        /// Returns the luma at the left and at the right of the displayed frame.
        func lumas() -> [UInt8]? { player.displayedFrame.map { [$0.planeY[8], $0.planeY[56]] } }
        func sees(_ expected: [UInt8]) async {
            while true {
                let count = drawn.count
                if let lumas = lumas(), zip(lumas, expected).allSatisfy({ abs(Int($0) - Int($1)) <= 2 }) { return }
                await drawn.wait(since: count)
            }
        }
        composition.show(Self.white)
        await sees([200, 200])
        player.setVideoScale(Self.wide(0.5))
        await sees([200, 16])
        // White is 235 in limited range. A frame without a scale covers the background.
        let white = try Graphic(premultipliedPNG: Array(#require(Data(base64Encoded: Self.whitePNG))))
        composition.setBackground(white)
        composition.show(Self.white)
        await sees([200, 235])
        // No frame follows these changes.
        composition.setBackground(nil)
        await sees([200, 16])
        // A still picture is drawn again with each background, also with one that follows at once.
        try await ContinuousClock().sleep(for: .milliseconds(200))
        composition.setBackground(white)
        composition.setBackground(nil)
        composition.setBackground(white)
        await sees([200, 235])
        player.setVideoScale(.full)
        await sees([200, 200])
    }

    private static func wide(_ share: Double) -> VideoScale {
        VideoScale(scaleX: share, scaleY: 1, pivotX: 0, pivotY: 0, duration: 0)
    }

    /// A white image of 2x2 pixels.
    private static let whitePNG =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAYAAABytg0kAAAA"
        + "DklEQVR4nGP4DwUMMAYAj4IP8TylVlEAAAAASUVORK5CYII="

    private static let white: VideoFrame = {
        let dimensions = Dimensions(width: 64, height: 36)
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: VideoFrame.layout(dimensions).byteCount, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 200)
        return VideoFrame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video), memory: memory,
            release: { $0.deallocate() })
    }()
}
