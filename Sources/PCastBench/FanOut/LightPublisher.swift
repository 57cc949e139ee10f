import PCastCore
import PCastRTP
import PCastWebRTC

/// A publisher of packets of given sizes, or of a recorded group: a complete peer that encodes nothing. Packets of given
/// sizes contain no decodable video. All packets of a frame are sent at once at its time, so that later delays are those of
/// the SFU.
final class LightPublisher: LightPeer {
    /// The first numbers and times.
    struct InitialState: Sendable {
        var sequenceNumber: UInt16 = 1_000
        var timestamp: UInt32 = 90_000
        var transportNumber: UInt16 = 0
    }

    private struct Sent {
        var header: RTPHeader
        var payloadSize: Int
        var startsKeyFrame: Bool
        /// The frame of the recorded group, and the packet of that frame.
        var recorded: (frame: Int, packet: Int)
    }

    private var transport: SecureTransport
    private let media: NegotiatedMedia
    private let clock: WallClockReference
    private let profile: TrafficProfile
    private let begun: Instant
    /// The sequence number of the next retransmission.
    private var retransmissionNumber: UInt16 = 1

    private var sequence: UInt16
    private var transportNumber: UInt16
    private let firstTimestamp: UInt32
    /// The number of the next frame since `begun`. Its time is relative to the last frame at which the rate changed.
    private var frame: Int64 = 0
    private var interval: TimeSpan
    private var reference: (frame: Int64, due: Instant)
    /// The remaining packet sizes of the current frame.
    private var leaving: ArraySlice<Int> = []
    private var leavesKeyFrame = false
    /// The current frame of the recorded group, and the number of its packets that were sent.
    private var recorded = (frame: 0, packet: 0)
    private var timestamp: UInt32 = 0
    private var log = [Sent?](repeating: nil, count: logSize)
    private var repeats: [UInt16] = []
    private var reportDue: Instant?
    private var wantsKeyFrame = true

    /// Whether frames are sent. Their times continue otherwise.
    var isRunning = false
    private(set) var isConnected = false
    private(set) var packets = 0
    private(set) var bytes = 0
    private(set) var frames = 0
    private(set) var keyFrames = 0
    private(set) var keyFrameBytes = 0
    /// The number of packets that the platform requested again.
    private(set) var requested = 0
    private var payloadBytes = 0

    private static let logSize = 1_024
    private static let marker: UInt32 = 0x5043_4153

    /// Creates a publisher from its offer and the platform's answer. `begun` is the time of the first frame. Throws if
    /// the answer is invalid.
    init(
        _ own: LightPublisherOffer, answer: SessionDescription, address: TransportAddress, profile: TrafficProfile,
        clock: WallClockReference, begun: Instant, beginning: InitialState = InitialState(), at now: Instant
    ) throws {
        let session = try own.offer.accept(answer)
        guard let media = session.media.first else { throw BenchFailure("the platform did not accept the video") }
        var generator = SystemRandomNumberGenerator()
        transport = try own.identity.transport(to: session, from: address, using: &generator, at: now)
        self.media = media
        self.clock = clock
        self.profile = profile
        self.begun = begun
        interval = TimeSpan(seconds: 1 / Double(profile.rate))
        reference = (0, begun)
        sequence = beginning.sequenceNumber
        transportNumber = beginning.transportNumber
        firstTimestamp = beginning.timestamp
    }

    func beginCounting() {
        (packets, bytes, frames, keyFrames, keyFrameBytes, requested) = (0, 0, 0, 0, 0, 0)
    }

    func close(at now: Instant) { transport.close(at: now) }

    // MARK: Receiving

    func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
        if case .rtcp(let length) = transport.handle(datagram, from: path, at: now) {
            read(ByteView(datagram.extracting(..<length)))
        }
        follow(at: now)
    }

    private func read(_ datagram: ByteView) {
        let bytes = datagram.span
        var reader = RTCPReader()
        while let packet = reader.next(in: bytes) {
            switch packet {
            case .pictureLossIndication: wantsKeyFrame = true
            case .negativeAcknowledgement(let nack):
                var budget = NegativeAcknowledgement.maximumCountPerDatagram
                nack.forEach(in: bytes, budget: &budget) { repeats.append($0) }
            default: break
            }
        }
    }

    private func follow(at now: Instant) {
        while let event = transport.pollEvent() {
            switch event {
            case .connected:
                isConnected = true
                reportDue = now
            case .openConnection(let address): transport.connectionFailed(to: address)
            case .reachable, .pathChanged, .away, .back, .closeConnection, .closed, .failed: break
            }
        }
    }

    // MARK: Time

    func advance(to now: Instant) {
        transport.advance(to: now)
        follow(at: now)
    }

    /// Sets the time between frames, starting with the next one.
    func setInterval(_ interval: TimeSpan) {
        reference = (frame, due(frame))
        self.interval = interval
    }

    private func due(_ frame: Int64) -> Instant { reference.due + interval * (frame - reference.frame) }

    var deadline: Instant? {
        guard transport.canSend else { return transport.deadline }
        return Instant.earlier(Instant.earlier(transport.deadline, reportDue), due(frame))
    }

    // MARK: Sending

    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        if transport.poll(into: &batch, at: now) { return true }
        guard transport.canSend, let path = transport.path else { return false }
        beginFrame(at: now)
        while let size = leaving.first {
            guard let buffer = batch.reserve() else { return true }
            leaving.removeFirst()
            let length = write(size, isLast: leaving.isEmpty, into: buffer, at: now)
            batch.commit(length: length, to: path)
        }
        while let number = repeats.last {
            guard let buffer = batch.reserve() else { return true }
            repeats.removeLast()
            let length = repeatPacket(number, into: buffer, at: now)
            if length > 0 { batch.commit(length: length, to: path) }
        }
        return report(into: &batch, to: path, at: now)
    }

    /// Starts a frame if it is due. Frames whose time has passed are skipped.
    private func beginFrame(at now: Instant) {
        guard leaving.isEmpty, due(frame) <= now else { return }
        let number = frame
        let captured = due(number)
        while due(frame) <= now { frame += 1 }
        guard isRunning else { return }
        frames += 1
        let index = isRecorded ? (recorded.frame + 1) % profile.frames.count : Int(number) % profile.frames.count
        leavesKeyFrame = wantsKeyFrame || isRecorded && index == 0
        wantsKeyFrame = false
        recorded = (leavesKeyFrame ? 0 : index, 0)
        let sizes = leavesKeyFrame ? profile.keyFrame : profile.frames[index]
        leaving = sizes[...]
        timestamp = rtpTimestamp(of: captured)
        if leavesKeyFrame {
            keyFrames += 1
            keyFrameBytes += sizes.reduce(0, +)
        }
    }

    private var isRecorded: Bool { !profile.payloads.isEmpty }

    private func rtpTimestamp(of instant: Instant) -> UInt32 {
        firstTimestamp &+ UInt32(truncatingIfNeeded: (instant - begun).nanoseconds * 9 / 100_000)
    }

    private func extensions(at now: Instant) -> RTPExtensionValues {
        var values = RTPExtensionValues()
        values.mid = media.mid.flatMap { RTPStreamIdentifier($0) }
        values.absoluteSendTime = AbsoluteSendTime(now)
        values.transportSequenceNumber = transportNumber
        transportNumber &+= 1
        return values
    }

    private func write(
        _ size: Int, isLast: Bool, into buffer: MutableByteView, at now: Instant
    ) -> Int {
        let header = RTPHeader(
            marker: isLast, payloadType: media.payloadType, sequenceNumber: sequence, timestamp: timestamp,
            ssrc: media.localSSRC ?? 0)
        let layout = header.write(into: buffer, extensions: extensions(at: now), map: media.extensionMap)
        let startsKeyFrame = leavesKeyFrame && leaving.count == profile.keyFrame.count - 1
        let payload = isRecorded ? size : max(24, size - layout.size - (transport.profile?.tagLength ?? 16))
        let sent = Sent(
            header: header, payloadSize: payload, startsKeyFrame: startsKeyFrame, recorded: recorded)
        log[Int(sequence) % Self.logSize] = sent
        sequence &+= 1
        packets += 1
        let space = buffer.extracting(layout.size..<layout.size + payload)
        if isRecorded {
            space.copyBytes(from: profile.payloads[recorded.frame][recorded.packet])
            recorded.packet += 1
        } else {
            Self.writePayload(
                into: space, startsKeyFrame: startsKeyFrame, isKeyFrame: leavesKeyFrame, at: now)
        }
        let length = transport.protectRTP(buffer, length: layout.size + payload, headerSize: layout.size)
        bytes += length
        payloadBytes += payload
        return length
    }

    private static let parameterSets: [UInt8] =
        [0x78, 0, 25]
        + [
            0x67, 0x42, 0xC0, 0x1F, 0xD9, 0x00, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00,
            0x03, 0x03, 0xC0, 0xF1, 0x83, 0x24, 0x80,
        ] + [0, 5, 0x68, 0xCB, 0x83, 0xCB, 0x20]

    /// Writes one NAL unit; at the start of a key frame, both parameter sets precede it (STAP-A; RFC 6184, section
    /// 5.7.1). The first bytes are followed by the send time.
    static func writePayload(
        into payload: MutableByteView, startsKeyFrame: Bool, isKeyFrame: Bool, at now: Instant
    ) {
        payload.update(repeating: 0x5A)
        payload[0] = isKeyFrame ? 0x65 : 0x41
        payload[1] = 0x5A
        if startsKeyFrame, payload.count > parameterSets.count + 24 {
            payload.copyBytes(from: parameterSets)
            let unit = payload.count - parameterSets.count - 2
            payload[parameterSets.count] = UInt8(unit >> 8)
            payload[parameterSets.count + 1] = UInt8(truncatingIfNeeded: unit)
            payload[parameterSets.count + 2] = 0x65
            payload[parameterSets.count + 3] = 0x88
            return
        }
        payload.storeBytes(of: marker.bigEndian, toByteOffset: 2, as: UInt32.self)
        payload.storeBytes(of: now.nanoseconds.bigEndian, toByteOffset: 6, as: Int64.self)
    }

    /// Returns the send time of a packet on this machine's clock; nil if it contains none.
    static func sendTime(of packet: ByteView, _ payload: Range<Int>) -> Instant? {
        guard payload.count >= 24, payload.upperBound <= packet.count else { return nil }
        let start = payload.lowerBound
        guard packet.loadUnaligned(fromByteOffset: start + 2, as: UInt32.self).bigEndian == marker else { return nil }
        return Instant(nanoseconds: packet.loadUnaligned(fromByteOffset: start + 6, as: Int64.self).bigEndian)
    }

    private func repeatPacket(_ number: UInt16, into buffer: MutableByteView, at now: Instant) -> Int {
        requested += 1
        guard let sent = log[Int(number) % Self.logSize], sent.header.sequenceNumber == number,
            let type = media.rtxPayloadType
        else { return 0 }
        let header = RTPHeader(
            marker: sent.header.marker, payloadType: type, sequenceNumber: retransmissionNumber,
            timestamp: sent.header.timestamp, ssrc: media.localRTXSSRC ?? 1)
        retransmissionNumber &+= 1
        let layout = header.write(into: buffer, extensions: extensions(at: now), map: media.extensionMap)
        buffer.storeBytes(of: number.bigEndian, toByteOffset: layout.size, as: UInt16.self)
        let start = layout.size + RTXEncapsulation.headerSize
        let space = buffer.extracting(start..<start + sent.payloadSize)
        if isRecorded {
            space.copyBytes(from: profile.payloads[sent.recorded.frame][sent.recorded.packet])
        } else {
            Self.writePayload(into: space, startsKeyFrame: sent.startsKeyFrame, isKeyFrame: false, at: now)
        }
        return transport.protectRTP(buffer, length: start + sent.payloadSize, headerSize: layout.size)
    }

    /// Sends a sender report every second.
    private func report(into batch: inout DatagramBatch, to path: NetworkPath, at now: Instant) -> Bool {
        guard let reportDue, reportDue <= now else { return false }
        guard let buffer = batch.reserve() else { return true }
        self.reportDue = now + .seconds(1)
        var writer = RTCPWriter(buffer.extracting(..<1_000))
        writer.senderReport(
            SenderInformation(
                ssrc: media.localSSRC ?? 0, ntpTimestamp: clock.wallTime(at: now).ntpTimestamp,
                rtpTimestamp: rtpTimestamp(of: now),
                packetCount: UInt32(truncatingIfNeeded: packets), octetCount: UInt32(truncatingIfNeeded: payloadBytes)))
        writer.sourceDescription(ssrc: media.localSSRC ?? 0, cname: Array("light".utf8).span)
        let length = transport.protectRTCP(buffer, length: writer.count)
        if length > 0 { batch.commit(length: length, to: path) }
        return false
    }
}
