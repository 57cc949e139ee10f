/// The detection of complete frames.
enum FrameBoundary {
    /// Returns the last sequence number of the frame that begins with `first`; nil if packets are missing or its end is
    /// unknown.
    ///
    /// A frame ends with the marker bit, or before a packet with another timestamp, because not all senders set the
    /// marker. Padding packets are ignored.
    ///
    /// - Parameters:
    ///   - first: The first sequence number of the frame.
    ///   - slots: The packets.
    /// - Returns: The sequence number.
    static func end(ofFrameAt first: Int64, in slots: borrowing PacketSlots) -> Int64? {
        guard let start = slots[first], !start.isPadding else { return nil }
        var sequence = first
        var last = first
        while let slot = slots[sequence] {
            if !slot.isPadding {
                if slot.timestamp != start.timestamp { return last }
                last = sequence
                if slot.marker { return last }
            }
            sequence += 1
        }
        return nil
    }
}
