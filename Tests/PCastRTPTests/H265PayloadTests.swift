import PCastCore
import Testing

@testable import PCastRTP

@Suite struct H265PayloadTests {
    private typealias Fixtures = VideoPayloadFixtures

    private static let sets = [Fixtures.videoSet, Fixtures.sequenceSet, Fixtures.pictureSet]
    private static let slice: [UInt8] = [0x02, 0x01, 0xD0, 5, 6, 7]
    /// A clean random access frame (CRA), and a frame that is skipped if decoding begins there (RASL).
    private static let cleanSlice: [UInt8] = [0x2A, 0x01, 0xAF, 1, 2, 3]
    private static let leadingSlice: [UInt8] = [0x12, 0x01, 0xD0, 9, 9, 9]

    private static func inspect(_ payload: [UInt8]) -> KeyFrameDetector.PayloadKind {
        KeyFrameDetector.inspect(codec: .h265, payload: payload.span)
    }

    private static func sequenceSet(_ unit: [UInt8]) -> H265SequenceParameterSet? {
        H265SequenceParameterSet(unit.span)
    }

    private static func isSkippedLeading(_ payload: [UInt8]) -> Bool {
        payload.withByteView { KeyFrameDetector.isSkippedLeading($0) }
    }

    private static func aggregate(_ units: [[UInt8]]) -> [UInt8] {
        units.reduce([0x60, 0x01]) { $0 + [UInt8($1.count >> 8), UInt8($1.count & 255)] + $1 }
    }

    // MARK: Payloads

    @Test("an access unit of x265 is divided and assembled", arguments: [16, 40, 80, 1100])
    func divides(maximum: Int) {
        let unit = H264Fixtures.annexB(Self.sets + [Fixtures.idrSlice])
        let payloads = H264Fixtures.payloads(of: .h265, unit, maximumPayloadSize: maximum)
        #expect(payloads.allSatisfy { $0.bytes.count <= maximum } && payloads.map(\.isLast).last == true)
        if maximum == 1100 {
            #expect(payloads.map(\.bytes) == [Self.aggregate(Self.sets + [Fixtures.idrSlice])])
            #expect(Self.inspect(payloads[0].bytes) == .keyFrame)
        }
        let (frame, bytes) = H264Fixtures.depacketize(.h265, payloads.map(\.bytes))
        #expect(frame == DepacketizedFrame(isKeyFrame: true, hasSlice: true) && bytes == unit)
    }

    @Test("a unit without its first or last fragment is dropped with its frame")
    func incomplete() {
        let payloads = H264Fixtures.payloads(
            of: .h265, H264Fixtures.annexB([Fixtures.idrSlice]), maximumPayloadSize: 16
        ).map(\.bytes)
        #expect(payloads.count == 3 && payloads.allSatisfy { $0[0] >> 1 == 49 })
        #expect(H264Fixtures.depacketize(.h265, Array(payloads.dropFirst())).frame == nil)
        #expect(H264Fixtures.depacketize(.h265, Array(payloads.dropLast())).frame == nil)
    }

    @Test("a random access point without parameter sets gets those that were sent before")
    func repeatsSets() {
        var depacketizer = PayloadDepacketizer(codec: .h265)
        var bytes: [UInt8] = []
        depacketizer.append(Self.aggregate(Self.sets).span, to: &bytes)
        let sets = depacketizer.finish(&bytes)
        #expect(sets == DepacketizedFrame(isKeyFrame: false, hasSlice: false))
        #expect(depacketizer.hasParameterSets)
        bytes.removeAll()
        depacketizer.append(Self.cleanSlice.span, to: &bytes)
        let frame = depacketizer.finish(&bytes)
        #expect(frame?.isKeyFrame == true)
        #expect(bytes == H264Fixtures.annexB(Self.sets + [Self.cleanSlice]))
        #expect(H264Fixtures.depacketize(.h265, [Self.cleanSlice]).frame?.isKeyFrame == false)
    }

    @Test("units of other layers do not make a key frame, and their parameter sets replace none")
    func otherLayers() {
        let others: [[UInt8]] = Self.sets.map { set in [set[0], set[1] | 0x08] + set.dropFirst(2) }
        let other: [UInt8] = [Self.cleanSlice[0], Self.cleanSlice[1] | 0x08] + Self.cleanSlice.dropFirst(2)
        #expect(Self.inspect(Self.aggregate(Self.sets + [other])) == .parameterSets)
        #expect(Self.inspect(Self.aggregate(others + [Self.cleanSlice])) == .idr)
        #expect(Self.inspect(Self.aggregate(Self.sets + others + [Self.cleanSlice, other])) == .keyFrame)
        let whole = Self.aggregate(Self.sets + others + [Self.cleanSlice, other])
        let (frame, bytes) = H264Fixtures.depacketize(.h265, [whole])
        #expect(frame?.isKeyFrame == true)
        #expect(bytes == H264Fixtures.annexB(Self.sets + others + [Self.cleanSlice, other]))
        let bare = H264Fixtures.depacketize(.h265, [Self.aggregate(others + [Self.cleanSlice])]).frame
        #expect(bare == DepacketizedFrame(isKeyFrame: false, hasSlice: true))
        var track = Track()
        let first = track.append([whole], frame: 1)
        let second = track.append([Self.aggregate([Self.cleanSlice, other])], frame: 2)
        #expect(first.dimensions == Fixtures.size && second.isKeyFrame && second.dimensions == Fixtures.size)
    }

    @Test("malformed payloads are counted, and their frames are dropped")
    func malformed() {
        let broken: [[[UInt8]]] = [
            [[0x60, 0x01]], [[0x60, 0x01, 0, 9, 1]], [[0x60, 0x01, 0, 1, 2]], [[0x62, 0x01, 0xC1, 1]],
            [[0x62, 0x01, 0x01, 1]], [[0x62, 0x01, 0x81, 1]], [[0x64, 0x01, 1, 1]], [[0x02, 0x01]], [[0x02]],
        ]
        for payloads in broken {
            var depacketizer = PayloadDepacketizer(codec: .h265)
            var bytes: [UInt8] = []
            for payload in payloads { depacketizer.append(payload.span, to: &bytes) }
            let frame = depacketizer.finish(&bytes)
            #expect(frame == nil)
            #expect(depacketizer.malformedUnits == 1, "\(payloads)")
        }
    }

    // MARK: Parameter sets and key frames

    @Test("size, profile, tier and level are read from the sequence parameter set")
    func sequenceSets() throws {
        let set = try #require(Self.sequenceSet(Fixtures.sequenceSet))
        #expect(set.dimensions == Fixtures.size)
        #expect(set.general.profile == 1 && !set.general.isHighTier && set.general.level == 60 && set.bitDepth == 8)
        #expect(set.id == 0 && set.videoID == 0)
        for length in 0..<22 { #expect(Self.sequenceSet(Array(Fixtures.sequenceSet.prefix(length))) == nil) }
        // The set of x265 for Main 10, and the same in the layer 1, which single-layer decoders ignore.
        let deep: [UInt8] = [
            0x42, 1, 1, 2, 0x20, 0, 0, 3, 0, 0x90, 0, 0, 3, 0, 0, 3, 0, 0x3C, 0xA0, 0x1A, 0x20, 0x79, 0x36, 0x59, 0x59,
            0xA4, 0x93, 0x2B, 0xC0, 0x5A, 2, 0, 0, 3, 0, 2, 0, 0, 3, 0, 0x3C, 0x10,
        ]
        let video = try #require(Self.sequenceSet(deep)).video
        #expect(video.codecString == "hvc1.2.4.L60.90" && video.profile == "Main 10" && video.bitDepth == 10)
        #expect(Self.sequenceSet([0x42, 0x09] + deep.dropFirst(2)) == nil)
        #expect(Self.sequenceSet([0x43, 0x01] + deep.dropFirst(2)) == nil)
    }

    @Test("random access points begin key frames, with their first slice")
    func keyFrames() {
        #expect(Self.inspect(Fixtures.idrSlice) == .idr)
        #expect(Self.inspect(Self.cleanSlice) == .idr)
        #expect(Self.inspect([0x2A, 0x01, 0x2F, 1]) == .none)
        #expect(Self.inspect(Self.slice) == .none && Self.inspect(Self.leadingSlice) == .none)
        #expect(Self.inspect(Self.aggregate(Self.sets)) == .parameterSets)
        #expect(Self.inspect(Self.aggregate(Self.sets + [Self.cleanSlice])) == .keyFrame)
        #expect(Self.inspect(Self.aggregate([Fixtures.pictureSet, Fixtures.sequenceSet, Self.cleanSlice])) == .idr)
        #expect(Self.inspect([0x62, 0x01, 0x95, 0xAF, 1]) == .idr)
        #expect(Self.inspect([0x62, 0x01, 0x15, 0xAF, 1]) == .none)
        #expect(Self.inspect([]) == .none && Self.inspect([0x2A, 0x01]) == .none)
    }

    @Test("skipped leading frames are recognized in each kind of payload")
    func leading() {
        let pair = [Self.leadingSlice, Self.leadingSlice]
        for payload in [Self.leadingSlice, [0x62, 0x01, 0x49, 1], Self.aggregate(pair)] {
            #expect(Self.isSkippedLeading(payload))
        }
        for payload in [Self.slice, [0x62, 0x01, 0x01, 1], Self.aggregate([Self.slice, Self.slice]), [0x12]] {
            #expect(!Self.isSkippedLeading(payload))
        }
    }

    // MARK: Forwarding

    /// A track, and a viewer that begins at its newest key frame.
    private struct Track: ~Copyable {
        var log = PacketLog(capacity: 256)
        var finder = KeyFrameFinder()
        private var now = Instant.at(0)
        private var sequence: Int64 = 100

        /// Appends the payloads of a frame. Returns the size of the video if they complete a key frame.
        mutating func append(_ payloads: [[UInt8]], frame: UInt32) -> (isKeyFrame: Bool, dimensions: Dimensions?) {
            var result: (isKeyFrame: Bool, dimensions: Dimensions?) = (false, nil)
            for (index, payload) in payloads.enumerated() {
                var entry = PacketLog.Entry(
                    sequence: sequence, timestamp: frame * 3000, marker: index == payloads.count - 1,
                    startsKeyFrame: false, arrival: now)
                if payload.withByteView({ KeyFrameDetector.isSkippedLeading($0) }), let position = log.newestKeyFrame {
                    entry.leadingDistance = UInt16(clamping: sequence - log[position].sequence)
                }
                _ = payload.withByteView { log.append(entry, payload: $0) }
                sequence += 1
                if let keyFrame = finder.appended(.h265, to: &log) { result = (true, keyFrame.video?.dimensions) }
            }
            now += .milliseconds(33)
            return result
        }

        /// Creates a viewer that begins at the newest key frame.
        func viewer() -> OutboundStream {
            var stream = OutboundStream(
                OutboundStream.Parameters(
                    ssrc: 1, payloadType: 96, retransmission: .init(ssrc: 2, payloadType: 97), mid: nil,
                    extensions: RTPHeaderExtensionMap(), clockRate: .video),
                firstSequenceNumber: 500, retransmissionSequenceNumber: 0)
            if let keyFrame = log.newestKeyFrame { stream.begin(at: keyFrame, in: log) }
            return stream
        }

        /// Returns the number and the payload of each packet that a viewer receives.
        func sent(to stream: inout OutboundStream) -> [(number: UInt16, payload: [UInt8])] {
            var counter: UInt16 = 0
            var sent: [(number: UInt16, payload: [UInt8])] = []
            var room = [UInt8](repeating: 0, count: 256)
            while true {
                let packet = room.withMutableByteView {
                    stream.next(
                        in: log, at: now, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &counter, into: $0)
                }
                guard let packet, let header = RTPHeader.parse(room) else { return sent }
                sent.append(
                    (header.sequenceNumber, packet.omitsPayload ? [] : Array(log.payload(at: packet.position))))
            }
        }
    }

    @Test("parameter sets that a key frame lacks are repeated for viewers that begin with it")
    func joins() {
        var track = Track()
        let whole = track.append([Self.aggregate(Self.sets + [Fixtures.idrSlice])], frame: 1)
        let other = track.append([Self.slice], frame: 2)
        let bare = track.append([Self.cleanSlice], frame: 3)
        let last = track.append([Self.slice], frame: 4)
        #expect(whole.dimensions == Fixtures.size && bare.dimensions == Fixtures.size)
        #expect(!other.isKeyFrame && !last.isKeyFrame)
        var viewer = track.viewer()
        let sent = track.sent(to: &viewer)
        #expect(sent.map(\.payload) == [Self.aggregate(Self.sets), Self.cleanSlice, Self.slice])
        #expect(sent.map(\.number) == [500, 501, 502])
    }

    @Test("parameter sets in packets of their own, and in fragments, belong to the key frame")
    func separateSets() {
        let set = Fixtures.sequenceSet
        let fragments: [[UInt8]] = [[0x62, 0x01, 0xA1] + set[2..<20], [0x62, 0x01, 0x61] + set[20...]]
        for sets in [Self.sets, [Fixtures.videoSet] + fragments + [Fixtures.pictureSet]] {
            var track = Track()
            _ = track.append([Self.slice], frame: 0)
            let keyFrame = track.append(sets + [Self.cleanSlice], frame: 1)
            #expect(keyFrame.dimensions == Fixtures.size)
        }
    }

    @Test("a viewer that begins with a clean random access frame receives no frame that leads to it")
    func skipsLeading() {
        var track = Track()
        _ = track.append([Self.aggregate(Self.sets + [Fixtures.idrSlice])], frame: 1)
        var first = track.viewer()
        _ = track.append([Self.slice], frame: 2)
        _ = track.append([Self.aggregate(Self.sets + [Self.cleanSlice])], frame: 5)
        var second = track.viewer()
        _ = track.append([Self.leadingSlice], frame: 4)
        _ = track.append([Self.slice], frame: 6)
        let all = track.sent(to: &first)
        #expect(all.map(\.payload).contains(Self.leadingSlice))
        let sent = track.sent(to: &second)
        #expect(sent.map(\.payload) == [Self.aggregate(Self.sets + [Self.cleanSlice]), [], Self.slice])
        #expect(sent.map(\.number) == [500, 501, 502])
        // The frames that lead to a later one refer to frames that the viewer has.
        _ = track.append([Self.aggregate(Self.sets + [Self.cleanSlice])], frame: 9)
        _ = track.append([Self.leadingSlice], frame: 8)
        let later = track.sent(to: &second)
        #expect(later.map(\.payload).last == Self.leadingSlice)
    }
}
