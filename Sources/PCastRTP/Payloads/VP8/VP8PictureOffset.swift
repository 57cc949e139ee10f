/// What is added to the numbers of VP8 pictures, so that they go on where another layer's ended (SW5).
public struct VP8PictureOffset: Hashable, Sendable {
    public var pictureID: UInt16 = 0
    public var tl0PictureIndex: UInt8 = 0

    public init() {}

    /// That which makes `next` the picture behind `last`.
    ///
    /// - Parameters:
    ///   - last: as the peer knows it.
    ///   - next: of another layer, as its source numbered it.
    public init(continuing last: VP8PayloadDescriptor, with next: VP8PayloadDescriptor) {
        if let end = last.pictureID, let start = next.pictureID { pictureID = end.value &+ 1 &- start.value }
        if let end = last.tl0PictureIndex, let start = next.tl0PictureIndex { tl0PictureIndex = end &+ 1 &- start }
    }

    public var isZero: Bool { pictureID == 0 && tl0PictureIndex == 0 }

    /// The descriptor as the peer gets it.
    public func applied(to descriptor: VP8PayloadDescriptor) -> VP8PayloadDescriptor {
        var changed = descriptor
        changed.pictureID = descriptor.pictureID.map { VP8PictureID($0.value &+ pictureID, width: $0.width) }
        changed.tl0PictureIndex = descriptor.tl0PictureIndex.map { $0 &+ tl0PictureIndex }
        return changed
    }

    /// Writes a payload with its numbers changed, which leaves it as long as it was; one that is no VP8 goes as it is.
    public func copy(_ payload: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) {
        room.copyMemory(from: payload)
        guard !isZero, room.count >= VP8PayloadDescriptor.maximumSize,
            let descriptor = VP8PayloadDescriptor.parse(Span(_unsafeBytes: payload))
        else { return }
        // A descriptor may have flags that name nothing; what is written then is shorter, and the payload would move.
        let changed = applied(to: descriptor)
        guard changed.writtenSize == descriptor.size else { return }
        _ = changed.write(into: room)
    }
}
