public import PCastMedia

/// What the constraint solver chose: a device, how it is opened, and why.
public struct ConstraintSelection<Configuration: Hashable & Sendable>: Hashable, Sendable {
    public var device: SourceDevice
    public var configuration: Configuration

    /// The capabilities whose wishes could not all be granted, each with the reason for people: "1280 instead of 1920".
    public var unmet: [DeviceCapability: String]
    public var explanation: ConstraintExplanation

    public init(
        device: SourceDevice, configuration: Configuration, unmet: [DeviceCapability: String] = [:],
        explanation: ConstraintExplanation
    ) {
        self.device = device
        self.configuration = configuration
        self.unmet = unmet
        self.explanation = explanation
    }
}

/// A camera, a screen or another source of pictures, and its configuration.
public typealias VideoSelection = ConstraintSelection<VideoConfiguration>

/// A microphone or another source of sound, and its configuration.
public typealias AudioSelection = ConstraintSelection<AudioConfiguration>

extension ConstraintSelection where Configuration == VideoConfiguration {
    /// The size of the pictures once they are turned upright, which is what constraints on width and height are about.
    public var deliveredDimensions: Dimensions {
        guard case .video(let capabilities) = device.capabilities else { return configuration.dimensions }
        return configuration.dimensions.turned(by: capabilities.mountingTurns)
    }
}

extension Dimensions {
    /// After so many quarter turns.
    func turned(by quarterTurns: Int) -> Dimensions {
        quarterTurns % 2 == 0 ? self : Dimensions(width: height, height: width)
    }
}
