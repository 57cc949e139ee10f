/// The reasons for the choice of the constraint solver.
public struct ConstraintExplanation: Hashable, Sendable {
    /// A device with its best configuration.
    public struct Candidate: Hashable, Sendable {
        /// The device.
        public var device: SourceDeviceInfo

        /// The configuration for display, such as "1280x720 at 30, MJPEG".
        public var configuration: String

        /// The reason for this configuration over the device's second best, for display; nil if there is no other.
        public var configurationReason: String?

        /// The fitness distance of each capability with an ideal value: 0 if it is satisfied, otherwise larger.
        public var distances: [DeviceCapability: Double]

        /// The required constraints that the device cannot satisfy, such as "width min 1920". A device with any is not
        /// used.
        public var unmetDemands: [String]

        /// The sum of all distances.
        public var distance: Double { DeviceCapability.allCases.reduce(0) { $0 + (distances[$1] ?? 0) } }

        /// Creates a candidate.
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

    /// The candidates in order of fitness. The first one was chosen.
    public var candidates: [Candidate]

    /// The difference between the first and the second candidate, in a sentence.
    public var reason: String

    /// Creates an explanation.
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
    /// The device, its configuration and its fitness, for display.
    public var description: String {
        let reason = configurationReason.map { " (\($0))" } ?? ""
        return "\(device.name) (\(device.id)): \(configuration)\(reason); \(fitness)"
    }

    private var fitness: String {
        guard unmetDemands.isEmpty else { return "cannot satisfy \(unmetDemands.joined(separator: ", "))" }
        let parts = DeviceCapability.allCases.compactMap { capability in
            distances[capability].map { "\(capability.rawValue) \(ConstraintNumber.rounded($0))" }
        }
        guard !parts.isEmpty else { return "no constraints were given" }
        return "distance \(ConstraintNumber.rounded(distance)) (\(parts.joined(separator: ", ")))"
    }
}
