package import PCastCore

/// The frames of several spatial layers with an index of their sizes at the end (VP9 bitstream specification 0.6, annex B).
package enum VP9Superframe {
    private static let markerMask: UInt8 = 0xE0
    private static let marker: UInt8 = 0xC0

    /// Returns the size of the largest layer of a superframe, or of a frame without an index; nil if the data does not begin
    /// with a key frame.
    package static func size(ofKeyFrame bytes: Span<UInt8>) -> Dimensions? {
        guard var largest = VP9FrameHeader(keyFrame: bytes)?.dimensions else { return nil }
        let marker = bytes[bytes.count - 1]
        let (count, sizeWidth) = (Int(marker & 7) + 1, Int(marker >> 3 & 3) + 1)
        let index = bytes.count - 2 - count * sizeWidth
        guard marker & Self.markerMask == Self.marker, index > 0, bytes[index] == marker else { return largest }
        var start = 0
        for frame in 0..<count {
            var size = 0
            for byte in 0..<sizeWidth { size |= Int(bytes[index + 1 + frame * sizeWidth + byte]) << (8 * byte) }
            guard size <= index - start else { break }
            let layer = frame > 0 ? statedSize(bytes.extracting(start..<start + size)) : nil
            if let layer, layer.width * layer.height > largest.width * largest.height { largest = layer }
            start += size
        }
        return largest
    }

    /// Returns the size that the header of a frame states, which is no key frame (section 6.2); nil if it is that of another
    /// frame.
    private static func statedSize(_ frame: Span<UInt8>) -> Dimensions? {
        var reader = BitReader(offset: 0)
        guard reader.bits(2, frame) == 2 else { return nil }
        let isHighProfile = reader.bits(2, frame) == 3
        if isHighProfile, reader.flag(frame) { return nil }
        let showsExisting = reader.flag(frame)
        guard !showsExisting, reader.flag(frame) else { return nil }
        let isShown = reader.flag(frame)
        let isResilient = reader.flag(frame)
        // A frame without references is not an upper layer of a key frame.
        if !isShown, reader.flag(frame) { return nil }
        if !isResilient { _ = reader.bits(2, frame) }
        // The frames that it replaces, and its three references.
        _ = reader.bits(8 + 3 * 4, frame)
        for _ in 0..<3 where reader.flag(frame) { return nil }
        let width = Int(reader.bits(16, frame)) + 1
        let height = Int(reader.bits(16, frame)) + 1
        guard !reader.isExhausted, width <= VP9FrameHeader.maximumSide, height <= VP9FrameHeader.maximumSide else {
            return nil
        }
        return Dimensions(width: width, height: height)
    }
}
