import PCastCore
import PCastRTP
import PCastWebRTC

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
