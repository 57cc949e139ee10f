import PCastMedia

/// The headers of packets that are sent for the first time, and how packets of a frame come to be of one size.
extension OutboundStream {
    /// Writes a packet's header, and answers its size.
    @inline(__always)
    mutating func writeHeader(
        of entry: UnsafePointer<PacketLog.Entry>, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32,
        sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16, into room: UnsafeMutableRawBufferPointer
    ) -> Int {
        let said = entry.pointee.length > Self.roomyPayloadSize ? nil : playoutDelay
        if !entry.pointee.isForwarding, template.size > 0, template.playoutDelay == said {
            template.write(
                marker: entry.pointee.marker, payloadType: payloadType, sequenceNumber: sequenceNumber,
                timestamp: timestamp, ssrc: parameters.ssrc, transportSequenceNumber: transportSequenceNumber,
                sendTime: sendTime, into: room)
            if template.countsPackets { transportSequenceNumber &+= 1 }
            return template.size
        }
        return writeWholeHeader(
            of: entry, payloadType: payloadType, sequenceNumber: sequenceNumber, timestamp: timestamp,
            sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber, into: room)
    }

    @inline(never)
    private mutating func writeWholeHeader(
        of entry: UnsafePointer<PacketLog.Entry>, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32,
        sendTime: AbsoluteSendTime, transportSequenceNumber: inout UInt16, into room: UnsafeMutableRawBufferPointer
    ) -> Int {
        let header = RTPHeader(
            marker: entry.pointee.marker, payloadType: payloadType, sequenceNumber: sequenceNumber,
            timestamp: timestamp, ssrc: parameters.ssrc)
        let values = values(entry.pointee, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber)
        let layout = header.write(into: room, extensions: values, map: parameters.extensions)
        if !entry.pointee.isForwarding, room.count >= HeaderTemplate.roomSize {
            template =
                HeaderTemplate(
                    layout, playoutDelay: values.playoutDelay, countsPackets: values.transportSequenceNumber != nil,
                    in: room) ?? HeaderTemplate()
        }
        return layout.size
    }

    // MARK: Sizes

    /// The most that a packet is filled up by. libwebrtc makes the later packets of a frame a byte larger than the
    /// earlier ones, and an extension of some of them is a few bytes more.
    static let maximumEvening = 16
    /// Packets that are looked at ahead: as many as leave in one segmented datagram.
    static let eveningReach: Int64 = 16

    /// How many bytes a packet lacks of the size that it is to have.
    ///
    /// What leaves for one peer in one system call are packets of one size, of which only the last may be shorter (IO2):
    /// one that is a little shorter than those behind it, or than the one before it, would end the run.
    @inline(__always)
    mutating func paddingSize(
        of size: Int, _ entry: UnsafePointer<PacketLog.Entry>, at position: Int64, in log: borrowing PacketLog
    ) -> Int {
        if position >= evenEnd || size > evenSize { findEvenSize(size, entry, at: position, in: log) }
        // The last one may be shorter.
        guard position + 1 < evenEnd, evenSize - size <= Self.maximumEvening else { return 0 }
        return evenSize - size
    }

    /// Looks at the packets of the same frame that wait behind a packet.
    @inline(never)
    private mutating func findEvenSize(
        _ size: Int, _ entry: UnsafePointer<PacketLog.Entry>, at position: Int64, in log: borrowing PacketLog
    ) {
        evenSize = size
        evenEnd = position + 1
        while evenEnd < min(log.end, position + Self.eveningReach) {
            let next = log.address(of: evenEnd)
            let headerSize = template.size > 0 ? template.size : size - entry.pointee.length
            let nextSize = headerSize + next.pointee.length
            guard next.pointee.timestamp == entry.pointee.timestamp, nextSize + Self.maximumEvening >= size else {
                return
            }
            // A much larger one begins a run of its own.
            guard nextSize <= size + Self.maximumEvening else { return }
            evenSize = max(evenSize, nextSize)
            evenEnd += 1
        }
    }
}
