import PCastCore

/// The headers of packets that are sent for the first time, and the equalization of packet sizes.
extension OutboundStream {
    /// Writes the header of a packet, and returns its size.
    @inline(__always)
    mutating func writeHeader(
        of entry: Reference<PacketLog.Entry>, at position: Int64, in log: borrowing PacketLog, marker: Bool,
        payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into buffer: MutableByteView
    ) -> Int {
        let delay = hasSpaceForExtensions(entry) ? playoutDelay : nil
        let descriptor = shortDescriptor(entry, in: log)
        if !entry.pointee.isForwarding, template.size > 0, template.playoutDelay == delay,
            template.descriptorSize == descriptor.size
        {
            template.write(
                marker: marker, payloadType: payloadType, sequenceNumber: sequenceNumber,
                timestamp: timestamp, ssrc: parameters.ssrc, transportSequenceNumber: transportSequenceNumber,
                sendTime: sendTime, descriptor: descriptor.bytes, into: buffer)
            if template.countsPackets { transportSequenceNumber &+= 1 }
            return template.size
        }
        return writeWholeHeader(
            of: entry, at: position, in: log, marker: marker, payloadType: payloadType, sequenceNumber: sequenceNumber,
            timestamp: timestamp, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber, into: buffer)
    }

    /// Writes a header with all extensions, which becomes the template of further ones, and returns its size.
    @inline(never)
    private mutating func writeWholeHeader(
        of entry: Reference<PacketLog.Entry>, at position: Int64, in log: borrowing PacketLog, marker: Bool,
        payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, sendTime: AbsoluteSendTime,
        transportSequenceNumber: inout UInt16, into buffer: MutableByteView
    ) -> Int {
        // A structure makes all decode targets active.
        if entry.pointee.descriptor.hasStructure, filter.current == .all { restrictsTargets = false }
        let header = RTPHeader(
            marker: marker, payloadType: payloadType, sequenceNumber: sequenceNumber, timestamp: timestamp,
            ssrc: parameters.ssrc)
        let values = values(entry, sendTime: sendTime, transportSequenceNumber: &transportSequenceNumber)
        let descriptor = descriptor(entry, at: position, in: log, by: mapping)
        let layout = header.write(
            into: buffer, extensions: values, descriptor: descriptor, map: parameters.extensions)
        if !entry.pointee.isForwarding, buffer.count >= HeaderTemplate.minimumBufferSize,
            layout.descriptor.count <= HeaderTemplate.maximumDescriptorSize
        {
            template =
                HeaderTemplate(
                    layout, playoutDelay: values.playoutDelay, countsPackets: values.transportSequenceNumber != nil,
                    in: buffer) ?? HeaderTemplate()
        }
        return layout.size
    }

    // MARK: Dependency descriptor

    /// Returns the descriptor of a packet if it has the mandatory fields only, and perhaps the active decode targets.
    /// The size is 0 without a descriptor, and less than 0 for another one.
    @inline(__always)
    func shortDescriptor(
        _ entry: Reference<PacketLog.Entry>, in log: borrowing PacketLog
    ) -> (bytes: UInt64, size: Int) {
        guard sendsDescriptors, entry.pointee.descriptor.exists else { return (0, 0) }
        guard entry.pointee.descriptor.isShort else { return (0, -1) }
        return OutgoingDescriptor.short(
            entry.pointee.descriptor, frameNumber: entry.pointee.descriptor.frameNumber &+ mapping.frameOffset,
            activeTargets: restrictsTargets ? targets(entry, in: log) : nil)
    }

    /// Returns the descriptor of a packet for the peer; nil if the packet has none, or the peer receives none.
    func descriptor(
        _ entry: Reference<PacketLog.Entry>, at position: Int64, in log: borrowing PacketLog, by mapping: Mapping
    ) -> OutgoingDescriptor? {
        guard sendsDescriptors, entry.pointee.descriptor.exists else { return nil }
        return OutgoingDescriptor(
            entry.pointee.descriptor, source: log.descriptorBytes(at: position),
            frameNumber: entry.pointee.descriptor.frameNumber &+ mapping.frameOffset,
            activeTargets: restrictsTargets ? targets(entry, in: log) : nil)
    }

    /// Returns the decode targets of a packet that the peer can decode; nil if they are unknown.
    private func targets(_ entry: Reference<PacketLog.Entry>, in log: borrowing PacketLog) -> UInt32? {
        let targets =
            log.decodeTargets.mask(of: entry.pointee.descriptor, within: filter.current)
            & entry.pointee.descriptor.activeTargets
        return targets == 0 ? nil : targets
    }

    /// Returns whether a packet with all extensions fits in every path.
    @inline(__always)
    func hasSpaceForExtensions(_ entry: Reference<PacketLog.Entry>) -> Bool {
        entry.pointee.length + (sendsDescriptors ? entry.pointee.descriptor.storedSize : 0)
            <= Self.maximumPayloadSizeWithExtensions
    }

    // MARK: Packet sizes

    /// The maximum padding of a packet in bytes. In libwebrtc, later packets of a frame are one byte larger than
    /// earlier ones, and some have an extension of a few bytes.
    static let maximumEqualizingPadding = 16
    /// The number of packets that are examined in advance: as many as are sent with one segmented datagram.
    static let equalizingWindow: Int64 = 16

    /// Returns the padding that a packet needs for the size of the packets after it in bytes.
    ///
    /// Packets to one peer are sent with one system call if they have the same size; only the last may be shorter
    /// (`UDP_SEGMENT`).
    @inline(__always)
    mutating func paddingSize(
        of size: Int, _ entry: Reference<PacketLog.Entry>, at position: Int64, in log: borrowing PacketLog
    ) -> Int {
        if position >= evenEnd || size > evenSize { findEvenSize(size, entry, at: position, in: log) }
        // The last packet may be shorter.
        guard position + 1 < evenEnd, evenSize - size <= Self.maximumEqualizingPadding else { return 0 }
        return evenSize - size
    }

    /// Determines the common size of a packet and the packets of the same frame after it.
    @inline(never)
    private mutating func findEvenSize(
        _ size: Int, _ entry: Reference<PacketLog.Entry>, at position: Int64, in log: borrowing PacketLog
    ) {
        evenSize = size
        evenEnd = position + 1
        while evenEnd < min(log.end, position + Self.equalizingWindow) {
            let next = log.address(of: evenEnd)
            let headerSize = template.size > 0 ? template.size : size - entry.pointee.length
            let nextSize = headerSize + next.pointee.length
            guard next.pointee.timestamp == entry.pointee.timestamp, nextSize + Self.maximumEqualizingPadding >= size
            else {
                return
            }
            // A much larger packet begins another group.
            guard nextSize <= size + Self.maximumEqualizingPadding else { return }
            evenSize = max(evenSize, nextSize)
            evenEnd += 1
        }
    }
}
