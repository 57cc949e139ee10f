public import PCastCore

/// The choice of the constraint solver: a device, its configuration, and the reasons.
public struct ConstraintSelection<Configuration: Hashable & Sendable>: Hashable, Sendable {
    /// The device.
    public var device: SourceDevice
    /// The configuration to open it with.
    public var configuration: Configuration

    /// The reason for each capability whose ideal value is unsatisfied, for display: "1280 instead of 1920".
    public var unmet: [DeviceCapability: String]
    /// The reasons for the choice.
    public var explanation: ConstraintExplanation

    /// Creates a selection.
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

/// A camera, a screen or another video source, with its configuration.
public typealias VideoSelection = ConstraintSelection<VideoConfiguration>

/// A microphone or another audio source, with its configuration.
public typealias AudioSelection = ConstraintSelection<AudioConfiguration>

extension ConstraintSelection where Configuration == VideoConfiguration {
    /// The size of the frames after rotation, to which constraints of width and height apply.
    public var deliveredDimensions: Dimensions {
        guard case .video(let capabilities) = device.capabilities else { return configuration.dimensions }
        return configuration.dimensions.turned(by: capabilities.mountRotation)
    }
}

extension Dimensions {
    /// Returns the dimensions after a number of quarter turns.
    func turned(by quarterTurns: Int) -> Dimensions {
        quarterTurns % 2 == 0 ? self : Dimensions(width: height, height: width)
    }
}
