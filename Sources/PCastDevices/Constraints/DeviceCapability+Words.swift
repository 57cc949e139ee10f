public import PCastMedia

extension DeviceCapability {
    /// What people may write for it: its own name, and a shorter one where that is long.
    public var words: [String] {
        switch self {
        case .audioEchoCancellationMode: [rawValue, "echo-cancellation"]
        case .videoSourceRotationMode: [rawValue, "rotation-mode"]
        case .audioChannelLayout: [rawValue, "channel-layout"]
        default: [rawValue]
        }
    }

    /// The media whose devices have it; of others it counts nothing.
    public var mediaTypes: Set<MediaType> {
        switch self {
        case .width, .height, .frameRate, .flashMode, .videoSourceRotationMode, .autoFocusMode, .autoFocusTarget:
            [.video]
        case .polarPattern, .audioEchoCancellationMode, .audioChannelLayout: [.audio]
        case .facingMode, .deviceID, .location: [.video, .audio]
        }
    }

    /// Which kinds of constraint it takes: there is more or less only of a number.
    public var kinds: [DeviceConstraint.Kind] {
        switch self {
        case .width, .height, .frameRate: DeviceConstraint.Kind.allCases
        default: [.exact, .ideal]
        }
    }
}
