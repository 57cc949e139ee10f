public import PCastCore

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
                "the kinds of \(name) are \(capability.kinds.map(\.rawValue).joined(separator: ", "))")
        }
        return (capability, DeviceConstraint(try DeviceConstraint.Value(String(sides[1]), of: capability), kind: kind))
    }
}
