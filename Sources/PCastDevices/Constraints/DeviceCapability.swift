public import PCastCore

/// A capability that constraints can request (Phenix: `PhenixDeviceCapability`), including the auto-focus target.
public enum DeviceCapability: String, Hashable, Sendable, CaseIterable {
    /// The width in pixels of the delivered frames.
    case width
    /// The height in pixels of the delivered frames.
    case height
    /// The frame rate in frames per second.
    case frameRate = "frame-rate"
    /// The direction that a camera faces.
    case facingMode = "facing-mode"
    /// The flash mode of a camera.
    case flashMode = "flash-mode"
    /// The identifier of the device, `SourceDeviceInfo.id`.
    case deviceID = "device-id"
    /// The location of the device on a phone or tablet.
    case location
    /// The polar pattern of a microphone.
    case polarPattern = "polar-pattern"
    /// The echo cancellation mode of a microphone.
    case audioEchoCancellationMode = "audio-echo-cancellation-mode"
    /// The rotation mode of a camera.
    case videoSourceRotationMode = "video-source-rotation-mode"
    /// The focus mode of a camera.
    case autoFocusMode = "auto-focus-mode"
    /// The position to focus on.
    case autoFocusTarget = "auto-focus-target"
    /// Mono or stereo.
    case audioChannelLayout = "audio-channel-layout"
}

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

extension DeviceConstraints {
    /// Parses constraints of a command line: `width=1280` is ideal, `width:min=640` and `facing-mode:exact=environment`
    /// are required.
    ///
    /// - Parameters:
    ///   - texts: One constraint each. Several of one capability all apply.
    ///   - mediaType: The media type of the source. Capabilities of other media types are rejected.
    /// - Returns: The constraints by capability.
    /// - Throws: `DeviceError.noConstraint` with the accepted words.
    public static func parse(_ texts: [String], for mediaType: MediaType) throws(DeviceError) -> DeviceConstraints {
        var constraints: DeviceConstraints = [:]
        for text in texts {
            do {
                let (capability, constraint) = try Self.parse(text, for: mediaType)
                constraints[capability, default: []].append(constraint)
            } catch { throw DeviceError.noConstraint(text, reason: error.reason) }
        }
        return constraints
    }

    /// The texts from which the constraints can be parsed.
    public var texts: [String] {
        DeviceCapability.allCases.flatMap { capability in
            (self[capability] ?? []).map { constraint in
                let kind = constraint.kind == .ideal ? "" : ":\(constraint.kind.rawValue)"
                return "\(capability.rawValue)\(kind)=\(constraint.value)"
            }
        }
    }

    private static func parse(_ text: String, for mediaType: MediaType) throws(ConstraintSyntaxError) -> (
        DeviceCapability, DeviceConstraint
    ) {
        let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let left = sides[0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let all = DeviceCapability.allCases.filter { $0.mediaTypes.contains(mediaType) }
        guard let name = left.first, let capability = all.first(where: { $0.words.contains(String(name)) }) else {
            let words = all.flatMap(\.words).joined(separator: ", ")
            throw ConstraintSyntaxError("the capabilities of \(mediaType.rawValue) are \(words)")
        }
        guard sides.count == 2 else { throw ConstraintSyntaxError("write it as \(name)=VALUE or \(name):KIND=VALUE") }
        let word = left.count == 2 ? String(left[1]) : DeviceConstraint.Kind.ideal.rawValue
        guard let kind = capability.kinds.first(where: { $0.rawValue == word }) else {
            throw ConstraintSyntaxError(
                "“\(word)” is not a kind of constraint for \(name): use one of "
                    + capability.kinds.map(\.rawValue).joined(separator: ", "))
        }
        return (capability, DeviceConstraint(try DeviceConstraint.Value(String(sides[1]), of: capability), kind: kind))
    }
}
