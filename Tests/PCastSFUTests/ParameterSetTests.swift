import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// H.264 viewers whose publisher sends its parameter sets in unusual ways.
struct ParameterSetTests {
    /// A publisher that sends frames of one or more packets, preceded by what the test adds.
    private final class InMemoryHarness {
        let network: VirtualNetwork
        let publisher: ScriptedPeer
        var sequence: UInt16 = 1000
        private(set) var frame: UInt32 = 0
        /// The numbers of the key frames that were sent.
        private(set) var keyFrames: [UInt32] = []

        init(shards: Int = 1, layers: [String] = []) throws {
            network = VirtualNetwork(shards: shards)
            publisher = try network.scriptPublisher(.h264, layers: layers)
            let publisher = publisher
            #expect(network.run { publisher.isConnected })
        }

        func say(_ payload: [UInt8], frame: UInt32? = nil, marker: Bool = false) {
            publisher.say(
                .video, sequence: sequence, timestamp: (frame ?? self.frame) &* 3000, payload: payload, marker: marker)
            sequence &+= 1
        }

        /// Sends a frame after the packets that `head` sends, and lets it arrive.
        func send(isKeyFrame: Bool = false, _ head: (InMemoryHarness) -> Void = { _ in }) {
            head(self)
            if isKeyFrame { keyFrames.append(frame) }
            let number = withUnsafeBytes(of: frame.bigEndian) { Array($0) }
            let slice: [UInt8] = isKeyFrame ? [0x65, 0x88, 0x84] : [0x41, 0x9A, 0x80]
            say(slice + number.map { $0 | 1 } + [UInt8](repeating: 7, count: 60), marker: true)
            frame += 1
            network.deliverAll(publisher)
            network.run(for: .milliseconds(33))
        }

        func play(_ count: Int, keyFrameInterval: UInt32, _ head: (InMemoryHarness, Bool) -> Void) {
            for _ in 0..<count {
                let isKeyFrame = frame % keyFrameInterval == 0
                send(isKeyFrame: isKeyFrame) { head($0, isKeyFrame) }
            }
        }
    }

    static let sps: [UInt8] = [
        0x67, 0x42, 0xC0, 0x1F, 0xD9, 0x00, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00,
        0x03, 0x03, 0xC0, 0xF1, 0x83, 0x24, 0x80,
    ]
    static let pps: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]
    static let stap: [UInt8] = [0x78, 0, UInt8(sps.count)] + sps + [0, UInt8(pps.count)] + pps

    /// The manners in which publishers send parameter sets.
    enum Manner: String, CaseIterable {
        case once, rarely, underThePrevious, underThePreviousInPackets, underTheirOwn, beforeEach, pictureSetFirst
        case betweenOthers, fragmented
    }

    private static func head(_ manner: Manner) -> (InMemoryHarness, Bool) -> Void {
        { stage, isKeyFrame in
            switch manner {
            case .once: if stage.frame == 0 { stage.say(stap) }
            case .rarely: if stage.frame % 60 == 0 { stage.say(stap) }
            case .underThePrevious: if isKeyFrame { stage.say(stap, frame: stage.frame &- 1) }
            case .underThePreviousInPackets:
                guard isKeyFrame else { return }
                stage.say(sps, frame: stage.frame &- 1)
                stage.say(pps, frame: stage.frame &- 1, marker: true)
            case .underTheirOwn:
                guard isKeyFrame else { return }
                stage.publisher.say(
                    .video, sequence: stage.sequence, timestamp: stage.frame &* 3000 &- 1000, payload: stap,
                    marker: true)
                stage.sequence &+= 1
            case .beforeEach: stage.say(stap)
            case .pictureSetFirst:
                guard isKeyFrame else { return }
                stage.say(pps)
                stage.say(sps)
            case .betweenOthers:
                guard isKeyFrame else { return }
                stage.say([0x09, 0xF0])
                stage.say(sps)
                stage.say([0x06, 0x05, 0x01, 0x00, 0x80])
                stage.say(pps)
            case .fragmented:
                guard isKeyFrame else { return }
                stage.say([0x7C, 0x87] + sps[1..<10])
                stage.say([0x7C, 0x47] + sps[10...])
                stage.say(pps)
            }
        }
    }

    @Test(
        "frames that are read inside the platform have the parameter sets that were sent before",
        arguments: [Manner.once, .beforeEach])
    func reader(manner: Manner) throws {
        let stage = try InMemoryHarness()
        stage.play(20, keyFrameInterval: 15, Self.head(manner))
        let codecs = stage.network.sfu.beginReading(VirtualNetwork.stream, at: stage.network.now)
        #expect(codecs[0] == .h264)
        var units: [PublishedUnit] = []
        for _ in 0..<45 {
            stage.play(1, keyFrameInterval: 15, Self.head(manner))
            stage.network.sfu.readUnits(at: stage.network.now) { units.append($0) }
        }
        let video = units.filter { $0.layer == 0 }
        let first = try #require(video.first)
        #expect(first.isKeyFrame && video.count >= 30, "\(video.count) frames")
        #expect(first.bytes.starts(with: [0, 0, 0, 1] + Self.sps))
    }

    @Test("a late viewer sees video within a key frame interval in every manner", arguments: Manner.allCases)
    func lateJoiner(manner: Manner) throws {
        let stage = try InMemoryHarness()
        stage.play(61, keyFrameInterval: 15, Self.head(manner))
        let viewer = try stage.network.view()
        stage.play(45, keyFrameInterval: 15, Self.head(manner))
        #expect(viewer.isConnected)
        let first = try #require(viewer.video.first?.frame)
        #expect(first.isKeyFrame)
        #expect(viewer.video.count >= 26, "\(viewer.video.count) frames")
        // Frames have regular timestamps from the first one on, and each has a picture.
        let times = viewer.video.map(\.frame.timestamp.ticks)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 3000 })
        #expect(viewer.connection.statistics.packetsLost == 0)
        // The decoder receives both parameter sets before the first slice.
        let types = Self.types(first.bytes)
        let slice = try #require(types.firstIndex(of: 5))
        let sequenceSet = try #require(types.firstIndex(of: 7))
        #expect(types[sequenceSet..<slice].contains(8), "\(types)")
        // A viewer requests one key frame, as with a stream that has its parameter sets in each key frame.
        #expect(stage.publisher.pictureLossIndications <= 8)
    }

    private static func types(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withByteView { source in
            var reader = AnnexBReader(source)
            var types: [UInt8] = []
            while let unit = reader.next() { types.append(source[unit.lowerBound] & 31) }
            return types
        }
    }

    @Test("a late viewer first receives the parameter sets, with the timestamp of the key frame and in order")
    func firstPackets() throws {
        let stage = try InMemoryHarness()
        stage.play(61, keyFrameInterval: 15, Self.head(.once))
        let viewer = try stage.network.scriptViewer()
        stage.play(40, keyFrameInterval: 15, Self.head(.once))
        let packets = viewer.packets(viewer.media(.video).remoteSources.first?.ssrc)
        try #require(packets.count > 10)
        #expect(packets[0].payload == Self.stap)
        #expect(packets[1].payload[0] == 0x65)
        #expect(packets[0].header.timestamp == packets[1].header.timestamp)
        #expect(!packets[0].header.marker && packets[1].header.marker)
        let numbers = packets.map(\.header.sequenceNumber)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
        #expect(
            packets.count { $0.payload == Self.stap } == 1,
            "the parameter sets are sent once, and not before each key frame")
    }

    @Test("parameter sets with the timestamp of the frame before are sent with that of the frame after them")
    func retimed() throws {
        let stage = try InMemoryHarness()
        let viewer = try stage.network.scriptViewer()
        #expect(stage.network.run { viewer.isConnected })
        stage.play(46, keyFrameInterval: 15, Self.head(.underThePreviousInPackets))
        let packets = viewer.packets(viewer.media(.video).remoteSources.first?.ssrc)
        let sets = packets.indices.filter { [0x67, 0x68].contains(packets[$0].payload[0]) }
        #expect(sets.count >= 6)
        for index in sets {
            let slice = try #require(packets[index...].first { $0.payload[0] == 0x65 })
            #expect(packets[index].header.timestamp == slice.header.timestamp)
            #expect(!packets[index].header.marker)
        }
        let numbers = packets.map(\.header.sequenceNumber)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
    }

    @Test("parameter sets before a frame that is not an IDR picture do not answer a request for a key frame")
    func noAnswer() throws {
        let stage = try InMemoryHarness()
        stage.play(31, keyFrameInterval: 1_000, Self.head(.beforeEach))
        let viewer = try stage.network.scriptViewer()
        #expect(stage.network.run { viewer.isConnected })
        let asked = stage.publisher.pictureLossIndications
        stage.play(20, keyFrameInterval: 1_000, Self.head(.beforeEach))
        #expect(stage.publisher.pictureLossIndications >= asked + 2, "the request is repeated")
        let source = try #require(viewer.media(.video).remoteSources.first)
        // It begins with the only IDR picture, and not with another frame that has parameter sets.
        #expect(viewer.packets(source.ssrc).prefix(4).map { $0.payload[0] } == [0x78, 0x65, 0x78, 0x41])
        stage.send(isKeyFrame: true)
        #expect(viewer.packets(source.ssrc).last?.payload[0] == 0x65)
        stage.network.run(for: .milliseconds(200))
        let granted = stage.publisher.pictureLossIndications
        stage.play(10, keyFrameInterval: 1_000, Self.head(.beforeEach))
        #expect(stage.publisher.pictureLossIndications == granted)
    }

    @Test("a viewer on another shard begins with the parameter sets that the publisher's shard received")
    func replica() throws {
        let stage = try InMemoryHarness(shards: 2)
        stage.play(61, keyFrameInterval: 15, Self.head(.once))
        let viewer = try stage.network.viewBeside()
        stage.play(60, keyFrameInterval: 15, Self.head(.once))
        #expect(viewer.isConnected)
        #expect(viewer.video.first?.frame.isKeyFrame == true)
        #expect(viewer.video.count >= 40, "\(viewer.video.count) frames")
        let times = viewer.video.map(\.frame.timestamp.ticks)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 3000 })
    }

    @Test("a viewer on a lossy link receives the inserted parameter sets by retransmission", arguments: 1...6)
    func lossy(seed: Int) throws {
        let stage = try InMemoryHarness()
        stage.play(61, keyFrameInterval: 15, Self.head(.once))
        stage.network.link.loss = 10
        let viewer = try stage.network.view()
        stage.play(150 + seed, keyFrameInterval: 15, Self.head(.once))
        #expect(viewer.isConnected)
        #expect(viewer.video.first?.frame.isKeyFrame == true)
        #expect(viewer.video.count >= 80, "\(viewer.video.count) frames")
    }

    @Test("a switch of layers begins with the parameter sets of the new layer")
    func layers() throws {
        var layers = try ScriptedH264Layers()
        // Each layer has a picture parameter set with different contents.
        layers.send { [Self.sps, Self.pps + [UInt8($0)], ScriptedH264Layers.idr($0)] }
        let viewer = try layers.viewerSwitchingDown { [ScriptedH264Layers.idr($0)] }
        layers.send { $0 == 0 ? [ScriptedH264Layers.idr($0)] : ScriptedH264Layers.frame($0) }
        for _ in 0..<3 { layers.send(ScriptedH264Layers.frame) }
        let packets = viewer.packets(viewer.media(.video).remoteSources.first?.ssrc)
        let change = try #require(packets.lastIndex { $0.payload.last == 1 }).advanced(by: 1)
        let begin = Array(packets.dropFirst(change).prefix(2))
        try #require(begin.count == 2)
        #expect(begin[0].payload == [0x78, 0, UInt8(Self.sps.count)] + Self.sps + [0, 6] + Self.pps + [0])
        #expect(begin[1].payload == ScriptedH264Layers.idr(0))
        #expect(begin[0].header.timestamp == begin[1].header.timestamp)
        let numbers = packets.map(\.header.sequenceNumber)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
    }
}
