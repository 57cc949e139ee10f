/// The properties of a frame that a depacketizer assembled.
package struct DepacketizedFrame: Hashable, Sendable {
    /// Whether the frame can be decoded without preceding frames.
    package let isKeyFrame: Bool

    /// Whether the frame contains video or audio; false for an H.264 access unit without a slice, such as separate
    /// parameter sets.
    package let hasSlice: Bool

    /// Creates the properties of a frame.
    package init(isKeyFrame: Bool, hasSlice: Bool) {
        self.isKeyFrame = isKeyFrame
        self.hasSlice = hasSlice
    }
}
