public import PCastCore

extension DeviceCapability {
    /// The names on a command line: the full one, and a shorter one for long names.
    public var words: [String] {
        switch self {
        case .audioEchoCancellationMode: [rawValue, "echo-cancellation"]
        case .videoSourceRotationMode: [rawValue, "rotation-mode"]
        case .audioChannelLayout: [rawValue, "channel-layout"]
        default: [rawValue]
        }
    }

    /// The media types to which the capability applies.
    public var mediaTypes: Set<MediaType> {
        switch self {
        case .width, .height, .frameRate, .flashMode, .videoSourceRotationMode, .autoFocusMode, .autoFocusTarget:
            [.video]
        case .polarPattern, .audioEchoCancellationMode, .audioChannelLayout: [.audio]
        case .facingMode, .deviceID, .location: [.video, .audio]
        }
    }

    /// The kinds of constraint that apply to it. Only numbers have a minimum and a maximum.
    public var kinds: [DeviceConstraint.Kind] {
        switch self {
        case .width, .height, .frameRate: DeviceConstraint.Kind.allCases
        default: [.exact, .ideal]
        }
    }
}
