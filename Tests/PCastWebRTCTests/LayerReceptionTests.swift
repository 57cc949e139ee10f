import PCastCore
import PCastRTP
import Testing

@testable import PCastWebRTC

/// The reception of simulcast: three layers of one section, identified by name (RFC 8852).
struct LayerReceptionTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    /// Returns the answer to Chromium's offer of the layers l, m and h.
    private static func receiver() throws -> MediaReceiver {
        let answer = try Answer.toPublisher(SDPSamples.chromiumSimulcastOffer)
        return MediaReceiver(answer.session.media, reporterSSRC: 9, cname: "c", measuresRoundTrip: false)
    }

    /// Lets the receiver process a packet. `repairs` makes it a retransmission of that sequence number.
    private static func receive(
        _ number: UInt16, ssrc: UInt32, rid: String? = nil, repairs: UInt16? = nil,
        transportSequenceNumber: UInt16? = nil, by receiver: inout MediaReceiver, at now: Instant = start
    ) -> MediaReceiver.Packet? {
        guard let media = receiver.video?.media else { return nil }
        var values = RTPExtensionValues()
        values.transportSequenceNumber = transportSequenceNumber
        let name = rid.flatMap { RTPStreamIdentifier($0) }
        if repairs == nil { values.rid = name } else { values.repairedRid = name }
        let header = RTPHeader(
            payloadType: (repairs == nil ? media.payloadType : media.rtxPayloadType) ?? 0, sequenceNumber: number,
            timestamp: 2, ssrc: ssrc)
        var bytes = [UInt8](repeating: 0, count: 200)
        let length = bytes.withMutableByteView { room in
            let size = header.write(into: room, extensions: values, map: media.extensionMap).size
            if let repairs { room.storeBytes(of: repairs.bigEndian, toByteOffset: size, as: UInt16.self) }
            return size + 10
        }
        return bytes.withByteView { receiver.receive($0.extracting(..<length), at: now) }
    }

    @Test("a layer is identified by its name first, then by its source; a packet of neither is rejected")
    func learnsSources() throws {
        var receiver = try Self.receiver()
        #expect(
            receiver.layers.map { $0.rid?.text } == ["l", "m", "h"] && receiver.layers.allSatisfy { $0.ssrc == nil })
        #expect(Self.receive(5, ssrc: 30, rid: "h", by: &receiver)?.layer == 2)
        #expect(Self.receive(5, ssrc: 10, rid: "l", by: &receiver)?.layer == 0)
        #expect(Self.receive(6, ssrc: 30, by: &receiver)?.layer == 2)
        #expect(Self.receive(6, ssrc: 20, by: &receiver) == nil)
        #expect(Self.receive(6, ssrc: 20, rid: "strange", by: &receiver) == nil)
        #expect(receiver.refused == 2)
        #expect(receiver.layers.map(\.ssrc) == [10, nil, 30])
        #expect(receiver.layers.map(\.packetsReceived) == [1, 0, 2])
    }

    @Test("a retransmission belongs to its named layer, and later ones of its source too")
    func learnsRetransmissions() throws {
        var receiver = try Self.receiver()
        _ = Self.receive(5, ssrc: 10, rid: "l", by: &receiver)
        let first = Self.receive(5, ssrc: 30, rid: "h", by: &receiver)?.sequence
        let last = Self.receive(8, ssrc: 30, by: &receiver)?.sequence
        #expect(last == first.map { $0 + 3 })
        let repaired = Self.receive(1, ssrc: 31, rid: "h", repairs: 6, by: &receiver)
        #expect(
            repaired?.layer == 2 && repaired?.sequence == first.map { $0 + 1 } && repaired?.isRetransmission == true)
        let next = Self.receive(2, ssrc: 31, repairs: 7, by: &receiver)
        #expect(next?.layer == 2 && next?.sequence == first.map { $0 + 2 })
        #expect(Self.receive(3, ssrc: 11, repairs: 5, by: &receiver) == nil)
        #expect(receiver.layers.map(\.missing.recovered) == [0, 0, 2])
    }

    @Test("a retransmission of no known layer counts for transport feedback")
    func retransmissionOfUnknownLayer() throws {
        var receiver = try Self.receiver()
        _ = Self.receive(5, ssrc: 30, rid: "h", by: &receiver)
        _ = Self.receive(8, ssrc: 30, by: &receiver)
        #expect(Self.receive(1, ssrc: 31, repairs: 6, transportSequenceNumber: 77, by: &receiver) == nil)
        let feedback = receiver.arrivals?.deadline
        #expect(feedback == Self.start + .milliseconds(100))
        // The next packet of the source names its layer, and later ones need no name.
        let named = Self.receive(2, ssrc: 31, rid: "h", repairs: 6, transportSequenceNumber: 78, by: &receiver)
        #expect(named?.layer == 2 && named?.isRetransmission == true)
        let unnamed = Self.receive(3, ssrc: 31, repairs: 7, transportSequenceNumber: 79, by: &receiver)
        #expect(unnamed?.layer == 2)
        #expect(receiver.layers[2].missing.missingCount == 0)
    }

    @Test("each layer has its own losses and its own requests for key frames")
    func keepsApart() throws {
        var receiver = try Self.receiver()
        for (ssrc, rid) in [(10, "l"), (20, "m"), (30, "h")] {
            _ = Self.receive(1, ssrc: UInt32(ssrc), rid: rid, by: &receiver)
        }
        _ = Self.receive(4, ssrc: 20, by: &receiver)
        receiver.requestKeyFrame(layer: 2)
        #expect(receiver.layers.map(\.keyFrame.isWanted) == [false, false, true])
        receiver.keyFrameArrived(layer: 1, sequence: SequenceUnwrapper.origin + 4, at: Self.start)
        #expect(receiver.layers.map(\.missing.abandoned) == [0, 2, 0])
        #expect(receiver.layers[2].keyFrame.isWanted)
        receiver.keyFrameArrived(layer: 2, sequence: SequenceUnwrapper.origin + 1, at: Self.start)
        #expect(!receiver.layers[2].keyFrame.isWanted)
    }

    @Test("an unused layer gets a request to pause, and the others do not")
    func pausesOne() throws {
        var media = try Answer.toPublisher(SDPSamples.chromiumSimulcastOffer).session.media
        media[0].feedback.insert(.pause)
        var receiver = MediaReceiver(media, reporterSSRC: 9, cname: "c", measuresRoundTrip: false)
        for (ssrc, rid) in [(10, "l"), (20, "m"), (30, "h")] {
            _ = Self.receive(1, ssrc: UInt32(ssrc), rid: rid, by: &receiver)
        }
        receiver.setDemanded(.video, layer: 2, false, at: Self.start)
        #expect(receiver.layers.map { $0.pauseDeadline != nil } == [false, false, true])
        #expect(receiver.layers[2].pauseDeadline == Self.start + PauseRequest.timeout)
    }
}
