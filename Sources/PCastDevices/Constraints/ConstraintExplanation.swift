/// Why the constraint solver chose as it did.
public struct ConstraintExplanation: Hashable, Sendable {
    /// A device in the configuration that serves best.
    public struct Candidate: Hashable, Sendable {
        public var device: SourceDeviceInfo

        /// For people, such as "1280x720 at 30, MJPEG".
        public var configuration: String

        /// Why it is this one rather than the device's next best, for people; nil when there is no other.
        public var configurationReason: String?

        /// The fitness distance of each capability that something was wished of: 0 where the wish is granted, and more
        /// the farther the device is from it.
        public var distances: [DeviceCapability: Double]

        /// The demands that the device cannot meet, such as "width min 1920"; a device with any is not used.
        public var unmetDemands: [String]

        /// The sum of all distances.
        public var distance: Double { DeviceCapability.allCases.reduce(0) { $0 + (distances[$1] ?? 0) } }

        public init(
            device: SourceDeviceInfo, configuration: String, configurationReason: String? = nil,
            distances: [DeviceCapability: Double] = [:], unmetDemands: [String] = []
        ) {
            self.device = device
            self.configuration = configuration
            self.configurationReason = configurationReason
            self.distances = distances
            self.unmetDemands = unmetDemands
        }
    }

    /// The best first, which is the one that was chosen.
    public var candidates: [Candidate]

    /// What decided between the first and the second, in a sentence.
    public var reason: String

    public init(candidates: [Candidate], reason: String) {
        self.candidates = candidates
        self.reason = reason
    }
}

extension ConstraintExplanation: CustomStringConvertible {
    /// A line for each candidate, and the reason.
    public var description: String {
        let lines = candidates.enumerated().map { "\($0.offset + 1). \($0.element)" }
        return (lines + [reason]).joined(separator: "\n")
    }
}

extension ConstraintExplanation.Candidate: CustomStringConvertible {
    public var description: String {
        let reason = configurationReason.map { " (\($0))" } ?? ""
        return "\(device.name) (\(device.id)): \(configuration)\(reason); \(fitness)"
    }

    private var fitness: String {
        guard unmetDemands.isEmpty else { return "cannot meet \(unmetDemands.joined(separator: ", "))" }
        let parts = DeviceCapability.allCases.compactMap { capability in
            distances[capability].map { "\(capability.rawValue) \(ConstraintNumber.rounded($0))" }
        }
        guard !parts.isEmpty else { return "nothing was wished" }
        return "distance \(ConstraintNumber.rounded(distance)) (\(parts.joined(separator: ", ")))"
    }
}
