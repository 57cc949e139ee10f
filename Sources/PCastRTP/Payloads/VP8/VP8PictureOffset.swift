/// The value that is added to the numbers of VP8 frames, so that they continue after a switch to another layer.
package struct VP8PictureOffset: Hashable, Sendable {
    /// The value that is added to the picture ID.
    package var pictureID: UInt16 = 0
    /// The value that is added to the index in the lowest temporal layer.
    package var tl0PictureIndex: UInt8 = 0

    /// Creates an offset of zero.
    package init() {}

    /// Creates the offset that makes one frame follow another.
    ///
    /// - Parameters:
    ///   - last: The last descriptor that the receiver got.
    ///   - next: The next descriptor from another layer, with its original numbers.
    package init(continuing last: VP8PayloadDescriptor, with next: VP8PayloadDescriptor) {
        if let end = last.pictureID, let start = next.pictureID { pictureID = end.value &+ 1 &- start.value }
        if let end = last.tl0PictureIndex, let start = next.tl0PictureIndex { tl0PictureIndex = end &+ 1 &- start }
    }

    /// Whether the numbers stay unchanged.
    package var isZero: Bool { pictureID == 0 && tl0PictureIndex == 0 }

    /// Returns a descriptor with the changed numbers.
    package func applied(to descriptor: VP8PayloadDescriptor) -> VP8PayloadDescriptor {
        var changed = descriptor
        changed.pictureID = descriptor.pictureID.map { VP8PictureID($0.value &+ pictureID, width: $0.width) }
        changed.tl0PictureIndex = descriptor.tl0PictureIndex.map { $0 &+ tl0PictureIndex }
        return changed
    }

    /// Copies a payload with changed numbers; its size does not change. A payload that is not VP8 is copied unchanged.
    package func copy(_ payload: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer) {
        buffer.copyMemory(from: payload)
        guard !isZero, buffer.count >= VP8PayloadDescriptor.maximumSize,
            let descriptor = VP8PayloadDescriptor.parse(Span(_unsafeBytes: payload))
        else { return }
        // If a descriptor has flags without fields, the written one would be shorter, and the VP8 data would have to
        // move.
        let changed = applied(to: descriptor)
        guard changed.writtenSize == descriptor.size else { return }
        _ = changed.write(into: buffer)
    }
}
