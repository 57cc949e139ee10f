/// Where a frame ends, and whether all of it is here.
enum FrameBoundary {
    /// The last number of the frame that begins with `first`, or nil while packets of it, or the knowledge that it
    /// is over, are missing.
    ///
    /// It ends with the marker, or before a packet of another time: not every sender sets the marker (RTP5). Padding
    /// takes part in neither.
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
