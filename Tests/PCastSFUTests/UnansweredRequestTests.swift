import PCastCore
import PCastRTP
import PCastTestSupport
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Viewers of publishers that do not answer requests for key frames, or cannot be asked. They begin at the last key
/// frame in the log.
struct UnansweredRequestTests {
    /// A publisher whose encoder makes a key frame at an interval, and on request only if the test wants it.
    private final class Source {
        static let interval = TimeSpan.milliseconds(33)

        let network: VirtualNetwork
        let peer: ScriptedPeer
        private let codec: Codec
        private let layers: [String]
        private var sequences: [UInt16]
        var keyFrameInterval = 150
        /// The number of packets in a frame.
        var packets = 1
        /// The number of bytes in each packet.
        var packetSize = 200
        var answersRequests = false
        private var requestsSeen = 0
        private(set) var instants: [Instant] = []
        private(set) var keyFrames: [Int] = []

        init(
            _ codec: Codec = .h264, network: VirtualNetwork = VirtualNetwork(), feedback: RTCPFeedback = [.nack, .pli],
            layers: [String] = []
        ) throws {
            self.network = network
            self.codec = codec
            self.layers = layers
            sequences = Array(repeating: 1_000, count: max(layers.count, 1))
            peer = try network.scriptPublisher(codec, feedback: feedback, layers: layers)
            let peer = peer
            #expect(network.run { peer.isConnected })
        }

        /// The number of the newest key frame.
        var newest: Int { keyFrames.last ?? 0 }
        var age: TimeSpan { keyFrames.last.map { network.now - instants[$0] } ?? .zero }

        func send(_ count: Int) {
            for _ in 0..<count {
                let asked = peer.pictureLossIndications
                let isAsked = answersRequests && asked > requestsSeen
                requestsSeen = asked
                let number = instants.count
                let isKeyFrame = isAsked || number % keyFrameInterval == 0
                if isKeyFrame { keyFrames.append(number) }
                instants.append(network.now)
                for layer in sequences.indices { say(number, isKeyFrame: isKeyFrame, layer: layer) }
                network.deliverAll(peer)
                network.run(for: Self.interval)
            }
        }

        func send(for span: TimeSpan) { send(Int(span.nanoseconds / Self.interval.nanoseconds)) }

        private func say(_ number: Int, isKeyFrame: Bool, layer: Int) {
            if codec == .h264, isKeyFrame { say(ParameterSetTests.stap, number, layer: layer) }
            let mark = withUnsafeBytes(of: UInt32(number).bigEndian) { $0.map { $0 | 1 } }
            for index in 0..<packets {
                let head = head(isKeyFrame: isKeyFrame, isFirst: index == 0)
                let filling = mark + [UInt8](repeating: 7, count: packetSize + 100 * layer)
                say(head + filling, number, marker: index == packets - 1, layer: layer)
            }
        }

        private func say(_ payload: [UInt8], _ number: Int, marker: Bool = false, layer: Int) {
            peer.say(
                .video, sequence: sequences[layer], timestamp: UInt32(number) &* 2_970, payload: payload,
                marker: marker, ssrc: layers.isEmpty ? nil : UInt32(10 + layer),
                rid: layers.isEmpty ? nil : layers[layer])
            sequences[layer] &+= 1
        }

        /// Returns the beginning of a packet. With H.264, each packet is a slice of its own.
        private func head(isKeyFrame: Bool, isFirst: Bool) -> [UInt8] {
            switch codec {
            case .h264: [isKeyFrame ? 0x65 : 0x41, isFirst ? 0x88 : 0x48, 0x84]
            default:
                isFirst
                    ? isKeyFrame ? [0x10, 0x10, 2, 0, 0x9D, 1, 0x2A, 0x80, 2, 0xE0, 1] : [0x10, 0x11, 2, 0] : [0x00]
            }
        }
    }

    /// The time of checks and handshake on links of 10 ms.
    private static let handshake = TimeSpan.milliseconds(80)

    /// Returns the numbers of the frames that a viewer received, by their timestamps.
    private func numbers(of viewer: CallPeer, from first: Int) -> [Int] {
        guard let begin = viewer.video.first?.frame.timestamp.ticks else { return [] }
        return viewer.video.map { first + Int(($0.frame.timestamp.ticks - begin) / 2_970) }
    }

    private func expectAll(_ viewer: CallPeer, from first: Int, of source: Source) {
        let numbers = numbers(of: viewer, from: first)
        #expect(viewer.video.first?.frame.isKeyFrame == true)
        #expect(numbers == Array(first..<first + numbers.count), "no frame is omitted, and each has its time")
        #expect(first + numbers.count >= source.instants.count - 3, "up to the newest: \(numbers.count)")
    }

    @Test(
        "the first viewer begins at the last key frame after the time of an answer, and later ones at once",
        arguments: [.vp8, .h264] as [Codec], [2_300, 3_000, 3_800] as [Int64])
    func joining(codec: Codec, age: Int64) throws {
        let source = try Source(codec)
        source.send(for: .milliseconds(age))
        let first = try source.network.view()
        let called = source.network.now
        source.send(for: .milliseconds(600))
        let wait = try #require(first.videoTimes.first) - called
        #expect(wait <= Self.handshake + KeyFrameRequester.answerTime + .milliseconds(50 + 40), "\(wait)")
        let asked = source.peer.pictureLossIndications
        #expect(asked >= 2)
        // All frames that it missed are sent at least twice as fast as the stream.
        source.send(for: .milliseconds(400))
        expectAll(first, from: 0, of: source)
        let secondCalled = source.network.now
        let second = try source.network.view()
        let newest = source.newest
        source.send(for: .milliseconds(2_000))
        let secondWait = try #require(second.videoTimes.first) - secondCalled
        #expect(secondWait <= Self.handshake + .milliseconds(40), "\(secondWait)")
        if source.newest == newest { expectAll(second, from: newest, of: source) }
        #expect(second.video[0].frame.isKeyFrame)
    }

    @Test("a publisher counts as unanswering until it answers, regardless of its own key frames")
    func laterAnswers() throws {
        let source = try Source()
        source.send(for: .seconds(3 as Int64))
        let first = try source.network.view()
        source.send(for: .seconds(5 as Int64))
        #expect(first.video.count > 100)
        // A key frame came by itself meanwhile, which is not an answer.
        #expect(source.age > .seconds(2 as Int64))
        let second = try source.network.view()
        let called = source.network.now
        source.send(for: .milliseconds(300))
        #expect(try #require(second.videoTimes.first) - called <= Self.handshake + .milliseconds(40))
        // The publisher answers from now on. The next viewer still receives the old key frame, and skips to the new
        // one.
        source.send(for: .seconds(1 as Int64))
        source.answersRequests = true
        source.keyFrameInterval = .max
        let (old, before) = (source.newest, source.keyFrames.count)
        let third = try source.network.view()
        source.send(for: .seconds(2 as Int64))
        let seen = numbers(of: third, from: old)
        #expect(source.keyFrames.count == before + 1)
        #expect(seen.first == old && seen.contains(source.newest))
        #expect(third.video.count { $0.frame.isKeyFrame } == 2)
        // The viewer after that waits for the key frame that it requests.
        source.send(for: .seconds(3 as Int64))
        let fourth = try source.network.view()
        source.send(for: .seconds(1 as Int64))
        #expect(source.keyFrames.count == before + 2)
        #expect(fourth.video.count { $0.frame.isKeyFrame } == 1)
        #expect(fourth.video.count <= 35, "\(fourth.video.count)")
    }

    @Test("a publisher that answers does not count as unanswering, however rare its key frames are")
    func answering() throws {
        let source = try Source()
        source.answersRequests = true
        source.keyFrameInterval = .max
        for _ in 0..<4 {
            source.send(for: .seconds(4 as Int64))
            let before = source.keyFrames.count
            let viewer = try source.network.view()
            source.send(for: .seconds(1 as Int64))
            #expect(source.keyFrames.count == before + 1)
            #expect(viewer.video.first?.frame.isKeyFrame == true && viewer.video.count <= 35)
        }
    }

    @Test("a viewer on another shard receives from the publisher's shard that requests are left unanswered")
    func replica() throws {
        let network = VirtualNetwork(shards: 2)
        let source = try Source(network: network)
        source.send(for: .seconds(2 as Int64))
        let first = try network.viewBeside()
        let called = network.now
        source.send(for: .seconds(2 as Int64))
        // It receives only what arrived after the replica was created.
        #expect(first.isConnected)
        source.send(for: .seconds(4 as Int64))
        #expect(try #require(first.videoTimes.first) > called)
        let second = try network.viewBeside()
        let secondCalled = network.now
        source.send(for: .milliseconds(500))
        #expect(source.age > .seconds(2 as Int64))
        #expect(try #require(second.videoTimes.first) - secondCalled <= Self.handshake + .milliseconds(40))
    }

    @Test("a viewer of a stream with layers begins at the last key frame of its layer")
    func layers() throws {
        let source = try Source(layers: ["l", "h"])
        source.send(for: .milliseconds(3_500))
        let viewer = try source.network.view()
        let called = source.network.now
        source.send(for: .milliseconds(800))
        let wait = try #require(viewer.videoTimes.first) - called
        #expect(wait <= Self.handshake + KeyFrameRequester.answerTime + .milliseconds(50 + 40), "\(wait)")
        #expect(viewer.video[0].frame.isKeyFrame)
        #expect(viewer.video.count > 100, "\(viewer.video.count)")
    }

    private func logCapacity(_ source: Source) -> Int? {
        guard let index = source.network.sfu.streamIndices[VirtualNetwork.stream] else { return nil }
        return source.network.sfu.forwarder.streams[index].layers[0].log.capacity
    }

    @Test(
        "the log keeps a key frame for 8.3 s if the publisher makes none on request",
        arguments: [true, false])
    func largeLog(isAskable: Bool) throws {
        let source = try Source(feedback: isAskable ? [.nack, .pli] : [.nack])
        source.keyFrameInterval = 250
        // The bit rate is 5.5 Mbit/s.
        source.packets = 20
        source.packetSize = 1_100
        source.send(for: .seconds(5 as Int64))
        let first = try source.network.view()
        source.send(250 - source.instants.count)
        #expect(first.isConnected)
        source.send(for: .milliseconds(7_600))
        let viewer = try source.network.view()
        let newest = source.newest
        source.send(for: .milliseconds(400))
        #expect(newest == 250 && source.newest == newest)
        #expect(viewer.video.first?.frame.isKeyFrame == true)
        let capacity = logCapacity(source)
        #expect(capacity == 8_192)
        source.send(for: .seconds(20 as Int64))
        #expect(logCapacity(source) == capacity, "the log is not larger")
    }

    @Test("the log of a publisher that answers does not grow")
    func smallLog() throws {
        let source = try Source()
        source.answersRequests = true
        source.keyFrameInterval = .max
        (source.packets, source.packetSize) = (20, 1_100)
        source.send(for: .seconds(2 as Int64))
        let viewer = try source.network.view()
        source.send(for: .seconds(10 as Int64))
        #expect(viewer.isConnected && logCapacity(source) == 2_048)
    }

    @Test("missed frames are paced, so that a link that just carries the stream does not lose them")
    func narrowLink() throws {
        let source = try Source()
        source.keyFrameInterval = 250
        // The bit rate is 1.2 Mbit/s.
        (source.packets, source.packetSize) = (5, 1_000)
        source.send(for: .seconds(3 as Int64))
        let wide = try source.network.view()
        source.send(for: .seconds(2 as Int64))
        #expect(wide.video.count > 100)
        var link = VirtualNetwork.Link()
        link.both {
            $0.rate = .kilobits(1_800)
            $0.queue = .span(.milliseconds(400))
        }
        source.network.link = link
        let viewer = try source.network.view()
        let called = source.network.now
        source.send(for: .seconds(8 as Int64))
        let wait = try #require(viewer.videoTimes.first) - called
        #expect(wait <= .milliseconds(250), "\(wait)")
        let statistics = try #require(source.network.linkStatistics(of: viewer))
        #expect(statistics.down.overflowed <= statistics.down.sent / 50, "\(statistics.down)")
        // At the newest key frame at the latest, it has caught up with the other viewers.
        let newest = try #require(viewer.video.last?.frame.timestamp.ticks)
        let widest = try #require(wide.video.last?.frame.timestamp.ticks)
        #expect(widest - newest <= 2_970 * 10, "\((widest - newest) / 2_970) frames behind")
        let longest = zip(viewer.videoTimes, viewer.videoTimes.dropFirst()).map { $1 - $0 }.max() ?? .zero
        #expect(longest <= .milliseconds(700), "\(longest)")
    }
}
