import PCastCore

extension DeviceRule {
    /// Returns the rules of a file. Throws `JSON5Error`.
    static func all(of file: JSON5Value) throws(JSON5Error) -> [DeviceRule] {
        var rules: [DeviceRule] = []
        for member in try file.members("a file of device rules") {
            guard member.name == "rules" else { throw member.unknown(["rules"]) }
            guard case .array(let elements) = member.value.content else { throw member.refusal("must be a list, [ ]") }
            for element in elements { rules.append(try DeviceRule(element)) }
        }
        return rules
    }

    private init(_ value: JSON5Value) throws(JSON5Error) {
        let members = try value.members("a rule")
        guard let match = members.first(where: { $0.name == "match" }) else {
            throw JSON5Error(line: value.line, reason: "a rule requires “match”, which selects its devices")
        }
        self.init(pattern: try DevicePattern(match))
        let accepted = ["match", "facingMode", "location", "polarPattern", "name", "rotation", "hidden"]
        for member in members {
            switch member.name {
            case "match": continue
            case "facingMode": facingMode = try member.word([FacingMode.user, .environment])
            case "location": location = try member.word([DeviceLocation.upper, .lower])
            case "polarPattern":
                polarPattern = try member.word([PolarPattern.omnidirectional, .cardioid, .subcardioid])
                try require(.audio, for: member)
            case "name": name = try member.text()
            case "rotation":
                mountRotation = try member.quarterTurns()
                try require(.video, for: member)
            case "hidden": isHidden = try member.boolean()
            default: throw member.unknown(accepted)
            }
        }
    }

    private func require(_ mediaType: MediaType, for member: JSON5Member) throws(JSON5Error) {
        guard pattern.mediaType == nil || pattern.mediaType == mediaType else {
            throw member.refusal("applies to \(mediaType.rawValue) devices, but the rule is for another media type")
        }
    }
}

extension DevicePattern {
    fileprivate init(_ match: JSON5Member) throws(JSON5Error) {
        self.init()
        for member in try match.value.members("“match”") {
            switch member.name {
            case "media": mediaType = try member.word(MediaType.allCases)
            case "vendor": vendor = try member.hexadecimal()
            case "product": product = try member.hexadecimal()
            case "serial": serial = NamePattern(try member.text())
            case "name": name = NamePattern(try member.text())
            case "id": id = NamePattern(try member.text())
            default: throw member.unknown(["media", "vendor", "product", "serial", "name", "id"])
            }
        }
        guard !isEmpty else { throw match.refusal("is empty: to match every device, write name: \"*\"") }
    }
}
