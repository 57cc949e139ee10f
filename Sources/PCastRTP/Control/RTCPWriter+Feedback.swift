package import PCastCore

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
