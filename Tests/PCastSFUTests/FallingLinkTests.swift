import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The link of a viewer or a publisher falls to a fraction of the stream's bit rate, and recovers.
struct FallingLinkTests {
    /// The result of one second.
    private struct Second: CustomStringConvertible {
        var longestWait: TimeSpan
        /// The bits delivered on the narrow link.
        var delivered: Int
        /// The frames that the viewer received.
        var videoFrames: Int

        var description: String { "\(longestWait.milliseconds.rounded()) ms, \(delivered / 1000) kbit, \(videoFrames)" }
    }

    enum Hop: CaseIterable { case viewer, publisher }

    private final class Scene {
        let network: VirtualNetwork
        let viewer: CallPeer
        let narrow: CallPeer
        var publisher: PacedPublisher

        init(_ hop: Hop, content: Bitrate, seed: UInt64) throws {
            network = VirtualNetwork(seed: seed)
            let full = LinkConditions(
                delay: .milliseconds(20), rate: .kilobits(4_000), queue: .span(.milliseconds(300)))
            if hop == .publisher { network.link.both { $0 = full } }
            let peer = try network.publish(.vp8)
            network.link.both { $0 = hop == .viewer ? full : LinkConditions(delay: .milliseconds(10)) }
            viewer = try network.view()
            narrow = hop == .viewer ? viewer : peer
            publisher = PacedPublisher(peer, content: content, at: network.now)
        }

        func change(to rate: Bitrate) { narrow.link.both { $0.rate = rate } }

        func watch(_ seconds: Int) -> [Second] {
            (0..<seconds).map { _ in
                let isUp = narrow === publisher.peer
                _ = network.takeLongestWait(of: narrow)
                let (bytes, videoFrames) = (delivered, viewer.video.count)
                publisher.send(for: .seconds(1 as Int64), by: network)
                let wait = network.takeLongestWait(of: narrow)
                return Second(
                    longestWait: isUp ? wait.up : wait.down, delivered: (delivered - bytes) * 8,
                    videoFrames: viewer.video.count - videoFrames)
            }
        }

        private var delivered: Int {
            let link = network.linkStatistics(of: narrow)
            return (narrow === viewer ? link?.down : link?.up)?.deliveredBytes ?? 0
        }

        var isInOrder: Bool {
            zip(viewer.video, viewer.video.dropFirst()).allSatisfy {
                $0.frame.timestamp.ticks < $1.frame.timestamp.ticks
            }
        }
    }

    private func mean(_ seconds: some Collection<Second>) -> Double {
        Double(seconds.reduce(0) { $0 + $1.delivered }) / Double(seconds.count)
    }

    @Test(
        "a link that falls from 4 to 0.8 Mbit/s has no queue after 3 s and is well used, and recovers within 15 s",
        arguments: Hop.allCases, [(1_400, 1), (1_400, 2), (1_950, 3), (1_100, 4)])
    func falls(hop: Hop, stream: (content: Int64, seed: UInt64)) throws {
        let scene = try Scene(hop, content: .kilobits(stream.content), seed: stream.seed)
        let full = mean(scene.watch(8).suffix(3))
        scene.change(to: .kilobits(800))
        let low = scene.watch(20)
        #expect(low.dropFirst(3).allSatisfy { $0.longestWait < .milliseconds(100) }, "\(low)")
        #expect(mean(low.dropFirst(3)) >= 0.75 * 800_000, "\(low)")
        #expect(low.dropFirst(3).allSatisfy { $0.videoFrames >= 25 }, "\(low)")
        scene.change(to: .kilobits(4_000))
        let back = scene.watch(16)
        let recovery = back.firstIndex { Double($0.delivered) >= 0.8 * full }
        #expect(try #require(recovery, "\(back)") < 15)
        #expect(scene.isInOrder)
    }

    @Test(
        "at 100 kbit/s audio continues, and video resumes within 5 s after that", arguments: Hop.allCases, [1, 2, 3])
    func audio(hop: Hop, seed: UInt64) throws {
        let scene = try Scene(hop, content: .kilobits(1_400), seed: seed)
        _ = scene.watch(8)
        scene.change(to: .kilobits(100))
        _ = scene.watch(4)
        let (heard, lost) = (scene.viewer.audio.count, scene.viewer.gaps.count)
        let low = scene.watch(11)
        // Audio has 50 packets per second.
        #expect(scene.viewer.audio.count - heard >= 530, "\(low) \(scene.viewer.gaps.count - lost)")
        scene.change(to: .kilobits(4_000))
        let back = scene.watch(8)
        let second = back.firstIndex { $0.videoFrames >= 10 }
        #expect(try #require(second, "\(back)") < 5, "\(back)")
        #expect(back.suffix(2).allSatisfy { $0.videoFrames >= 28 }, "\(back)")
        #expect(scene.isInOrder)
    }
}

/// A publisher whose encoder honors its congestion control, with 30 frames and 50 packets of audio per second.
///
/// A key frame uses the share of almost half a second, and the following frames are smaller, as with an encoder's rate
/// control.
struct PacedPublisher {
    private static let tick = TimeSpan.milliseconds(10)
    /// The bit rate of audio on the wire.
    private static let audioBitrate: Int64 = 80_000
    private static let overhead = 1.08

    let peer: CallPeer
    /// The bit rate of video without limits.
    let content: Bitrate
    private(set) var videoFrames = TestFrames(.vp8)
    private(set) var keyFrames = 0
    private var audio = TestFrames(.opus)
    private var beginnings = 0
    private var nextVideo: Instant
    private var nextAudio: Instant
    /// The number of bytes that key frames used in advance.
    private var debt = 0.0

    init(_ peer: CallPeer, content: Bitrate, at now: Instant) {
        self.peer = peer
        self.content = content
        nextVideo = now
        nextAudio = now
        peer.connection.setDesiredBitrate(Self.onWire(content))
    }

    private static func onWire(_ video: Bitrate) -> Bitrate {
        Bitrate(bitsPerSecond: Int64(Double(video.bitsPerSecond) * overhead) + audioBitrate)
    }

    /// The bit rate that is available for video.
    private var room: Bitrate {
        guard let target = peer.connection.estimate?.target else { return content }
        let video = Double(max(target.bitsPerSecond - Self.audioBitrate, 0)) / Self.overhead
        return min(Bitrate(bitsPerSecond: Int64(video)), content)
    }

    mutating func send(for span: TimeSpan, by network: VirtualNetwork, each look: (Instant) -> Void = { _ in }) {
        let end = network.now + span
        while network.now < end {
            if network.now >= nextAudio {
                network.send(audio.next(captureTime: VirtualNetwork.clock.wallTime(at: network.now)), from: peer)
                nextAudio = nextAudio + .milliseconds(20)
            }
            if network.now >= nextVideo {
                sendFrame(by: network)
                nextVideo = nextVideo + .nanoseconds(33_333_333)
            }
            network.run(for: Self.tick)
            look(network.now)
        }
    }

    private mutating func sendFrame(by network: VirtualNetwork) {
        let room = room
        peer.connection.setPublisherReport(
            PublisherReport(
                isVideoCut: room < .kilobits(100), wanted: Self.onWire(content),
                estimate: peer.connection.estimate.flatMap { $0.isLimited ? $0.target : nil } ?? Self.onWire(content)),
            at: network.now)
        guard room >= .kilobits(100) else { return }
        let share = Double(room.bitsPerSecond) / 8 / 30
        let isKeyFrame = videoFrames.count == 0 || peer.beginnings > beginnings
        beginnings = peer.beginnings
        if isKeyFrame {
            keyFrames += 1
            videoFrames.keyFrameSize = Int(share * 12)
            debt += share * 11
        } else {
            let size = max(share - debt / 8, share / 3)
            debt = max(debt - (share - size), 0)
            videoFrames.frameSize = Int(size)
        }
        let captured = VirtualNetwork.clock.wallTime(at: network.now)
        network.send(videoFrames.next(isKeyFrame: isKeyFrame, captureTime: captured), from: peer)
    }
}
