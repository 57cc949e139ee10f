package import PCastCore

/// Writes consecutive RTCP packets into a datagram.
///
/// The caller ensures that the buffer has space for each packet; see ``remaining``.
package struct RTCPWriter {
    /// The buffer of the datagram.
    let buffer: MutableByteView

    /// The number of bytes written.
    package private(set) var count = 0

    /// The offset of the report that ``append(_:)`` extends; nil if the last packet is not a report.
    private var report: Int?

    /// Creates a writer at the beginning of a buffer.
    package init(_ buffer: MutableByteView) { self.buffer = buffer }

    /// The number of bytes that can still be written.
    package var remaining: Int { buffer.count - count }

    /// Writes the header of a packet and returns the offset of its body. `size` is that of the body, a multiple of
    /// four.
    mutating func begin(type: UInt8, count format: UInt8, size: Int) -> Int {
        precondition(size % 4 == 0 && size + 4 <= remaining, "the buffer is too small for an RTCP packet")
        buffer[count] = 0x80 | format
        buffer[count + 1] = type
        buffer.storeBigEndian(UInt16(size / 4), at: count + 2)
        let body = count + 4
        count = body + size
        report = nil
        return body
    }

    /// Writes the header of a feedback message and returns the offset after the SSRCs. `size` is that of the data after
    /// them (RFC 4585, section 6.1).
    mutating func beginFeedback(
        type: UInt8, format: UInt8, senderSSRC: UInt32, mediaSSRC: UInt32, size: Int
    ) -> Int {
        let body = begin(type: type, count: format, size: 8 + size)
        buffer.storeBigEndian(senderSSRC, at: body)
        buffer.storeBigEndian(mediaSSRC, at: body + 4)
        return body + 8
    }

    /// Writes a sender report without blocks, which ``append(_:)`` adds (28 bytes; RFC 3550, section 6.4.1).
    package mutating func senderReport(_ information: SenderInformation) {
        let start = count
        let body = begin(type: RTCPPacket.PacketType.senderReport, count: 0, size: SenderInformation.size)
        buffer.storeBigEndian(information.ssrc, at: body)
        buffer.storeBigEndian(information.ntpTimestamp, at: body + 4)
        buffer.storeBigEndian(information.rtpTimestamp, at: body + 12)
        buffer.storeBigEndian(information.packetCount, at: body + 16)
        buffer.storeBigEndian(information.octetCount, at: body + 20)
        report = start
    }

    /// Writes a receiver report without blocks, which ``append(_:)`` adds (8 bytes; RFC 3550, section 6.4.2).
    package mutating func receiverReport(ssrc: UInt32) {
        let start = count
        let body = begin(type: RTCPPacket.PacketType.receiverReport, count: 0, size: 4)
        buffer.storeBigEndian(ssrc, at: body)
        report = start
    }

    /// Adds a block to the report that was written last (24 bytes). Returns false if it has 31 blocks already, and
    /// another report must be written.
    package mutating func append(_ block: ReportBlock) -> Bool {
        guard let report else { preconditionFailure("a report block must follow its report") }
        guard buffer[report] & 0x1F < 31 else { return false }
        precondition(ReportBlock.size <= remaining, "the buffer is too small for a report block")
        block.write(into: buffer, at: count)
        count += ReportBlock.size
        buffer[report] += 1
        buffer.storeBigEndian(UInt16((count - report) / 4 - 1), at: report + 2)
        return true
    }

    /// Writes the canonical name of a source, at most 255 bytes of UTF-8 (RFC 3550, section 6.5.1).
    package mutating func sourceDescription(ssrc: UInt32, cname: Span<UInt8>) {
        precondition(cname.count < 256, "a CNAME must have at most 255 bytes")
        let size = (4 + 2 + cname.count + 1 + 3) / 4 * 4
        let body = begin(type: RTCPPacket.PacketType.sourceDescription, count: 1, size: size)
        buffer.storeBigEndian(ssrc, at: body)
        buffer[body + 4] = 1
        buffer[body + 5] = UInt8(cname.count)
        for index in cname.indices { buffer[body + 6 + index] = cname[index] }
        for index in body + 6 + cname.count..<body + size { buffer[index] = 0 }
    }

    /// Writes a BYE for a source (8 bytes; RFC 3550, section 6.6).
    package mutating func goodbye(ssrc: UInt32) {
        let body = begin(type: RTCPPacket.PacketType.goodbye, count: 1, size: 4)
        buffer.storeBigEndian(ssrc, at: body)
    }

    /// Writes a receiver reference time, by which the round-trip time is measured (20 bytes; RFC 3611, section 4.4).
    package mutating func receiverReferenceTime(ssrc: UInt32, ntpTimestamp: UInt64) {
        let body = begin(type: RTCPPacket.PacketType.extendedReport, count: 0, size: 16)
        buffer.storeBigEndian(ssrc, at: body)
        buffer.storeBigEndian(UInt32(ExtendedReport.BlockType.receiverReferenceTime) << 24 | 2, at: body + 4)
        buffer.storeBigEndian(ntpTimestamp, at: body + 8)
    }

    /// Writes the response to a peer's receiver reference time (24 bytes; RFC 3611, section 4.5).
    package mutating func delaySinceLastReport(ssrc: UInt32, _ delay: ExtendedReport.DelaySinceReport) {
        let body = begin(type: RTCPPacket.PacketType.extendedReport, count: 0, size: 20)
        buffer.storeBigEndian(ssrc, at: body)
        buffer.storeBigEndian(UInt32(ExtendedReport.BlockType.delaySinceLastReport) << 24 | 3, at: body + 4)
        buffer.storeBigEndian(delay.ssrc, at: body + 8)
        buffer.storeBigEndian(delay.lastReport, at: body + 12)
        buffer.storeBigEndian(delay.delay, at: body + 16)
    }
}

extension RTCPWriter {
    /// Writes a NACK for lost packets (RFC 4585, section 6.2.1).
    ///
    /// Each pair of packet ID and bitmask has up to 17 sequence numbers.
    ///
    /// - Parameters:
    ///   - senderSSRC: The SSRC of this side.
    ///   - mediaSSRC: The SSRC of the stream with the lost packets.
    ///   - lost: The sequence numbers in ascending order, which may wrap around.
    /// - Returns: The number of sequence numbers that fitted.
    package mutating func negativeAcknowledgement(
        senderSSRC: UInt32, mediaSSRC: UInt32, lost: Span<UInt16>
    ) -> Int {
        let capacity = (remaining - 12) / 4
        guard capacity > 0, !lost.isEmpty else { return 0 }
        let body = count + 12
        var pairs = 0
        var index = 0
        while index < lost.count, pairs < capacity {
            let first = lost[index]
            let mask = Self.bitmask(after: first, in: lost, from: &index)
            buffer.storeBigEndian(first, at: body + pairs * 4)
            buffer.storeBigEndian(mask, at: body + pairs * 4 + 2)
            pairs += 1
        }
        _ = beginFeedback(
            type: RTCPPacket.PacketType.transportLayerFeedback,
            format: RTCPPacket.FeedbackFormat.negativeAcknowledgement, senderSSRC: senderSSRC, mediaSSRC: mediaSSRC,
            size: pairs * 4)
        return index
    }

    /// Returns the bitmask of the 16 numbers after `first`, which is at `index`, and moves `index` after the last one
    /// in it.
    private static func bitmask(after first: UInt16, in lost: Span<UInt16>, from index: inout Int) -> UInt16 {
        var mask: UInt16 = 0
        index += 1
        while index < lost.count {
            let distance = lost[index] &- first
            guard distance <= 16 else { break }
            if distance > 0 { mask |= 1 << (distance - 1) }
            index += 1
        }
        return mask
    }

    /// Writes a PLI, which requests a key frame (12 bytes; RFC 4585, section 6.3.1).
    package mutating func pictureLossIndication(senderSSRC: UInt32, mediaSSRC: UInt32) {
        _ = beginFeedback(
            type: RTCPPacket.PacketType.payloadSpecificFeedback,
            format: RTCPPacket.FeedbackFormat.pictureLossIndication, senderSSRC: senderSSRC, mediaSSRC: mediaSSRC,
            size: 0)
    }

    /// Writes a FIR, which requests a key frame (20 bytes; RFC 5104, section 4.3.1). A repetition has the same sequence
    /// number.
    package mutating func fullIntraRequest(senderSSRC: UInt32, mediaSSRC: UInt32, sequenceNumber: UInt8) {
        let body = beginFeedback(
            type: RTCPPacket.PacketType.payloadSpecificFeedback, format: RTCPPacket.FeedbackFormat.fullIntraRequest,
            senderSSRC: senderSSRC, mediaSSRC: 0, size: 8)
        buffer.storeBigEndian(mediaSSRC, at: body)
        buffer.storeBigEndian(UInt32(sequenceNumber) << 24, at: body + 4)
    }

    /// Writes a message about pausing a stream (20 bytes, or 24 for PAUSED; RFC 7728, section 7). The media source of
    /// the header is 0, because the message contains the SSRC.
    package mutating func pauseResume(senderSSRC: UInt32, _ message: PauseResume.Message) {
        var lastSequenceNumber: UInt32?
        if case .paused(let number) = message.kind { lastSequenceNumber = number }
        let body = beginFeedback(
            type: RTCPPacket.PacketType.transportLayerFeedback, format: RTCPPacket.FeedbackFormat.pauseResume,
            senderSSRC: senderSSRC, mediaSSRC: 0,
            size: PauseResume.messageSize + (lastSequenceNumber == nil ? 0 : 4))
        buffer.storeBigEndian(message.ssrc, at: body)
        buffer[body + 4] = message.kind.type << 4
        buffer[body + 5] = lastSequenceNumber == nil ? 0 : 1
        buffer.storeBigEndian(message.pauseID, at: body + 6)
        if let lastSequenceNumber { buffer.storeBigEndian(lastSequenceNumber, at: body + 8) }
    }

    /// Writes a REMB message, which limits the sum of up to 255 streams (20 bytes and 4 for each;
    /// draft-alvestrand-rmcat-remb-03, section 2.2).
    package mutating func receiverEstimatedBitrate(senderSSRC: UInt32, bitrate: Bitrate, ssrcs: Span<UInt32>) {
        precondition(ssrcs.count < 256, "REMB must have at most 255 streams")
        let body = beginFeedback(
            type: RTCPPacket.PacketType.payloadSpecificFeedback, format: RTCPPacket.FeedbackFormat.applicationLayer,
            senderSSRC: senderSSRC, mediaSSRC: 0, size: 8 + 4 * ssrcs.count)
        buffer.storeBigEndian(ReceiverEstimatedBitrate.uniqueIdentifier, at: body)
        buffer[body + 4] = UInt8(ssrcs.count)
        buffer.storeBigEndian24(ReceiverEstimatedBitrate.packed(bitrate), at: body + 5)
        for index in ssrcs.indices { buffer.storeBigEndian(ssrcs[index], at: body + 8 + 4 * index) }
    }
}
