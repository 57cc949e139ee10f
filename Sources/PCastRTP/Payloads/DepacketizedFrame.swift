/// What a depacketizer learnt about the frame whose bytes it gave.
public struct DepacketizedFrame: Hashable, Sendable {
    /// Decodable without anything before it.
    public let isKeyFrame: Bool

    /// False for an access unit without a slice, such as parameter sets sent with a timestamp of their own.
    public let hasPicture: Bool

    public init(isKeyFrame: Bool, hasPicture: Bool) {
        self.isKeyFrame = isKeyFrame
        self.hasPicture = hasPicture
    }
}
