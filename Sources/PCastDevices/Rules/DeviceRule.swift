import PCastCore

/// Properties of the devices that match a pattern.
struct DeviceRule: Hashable, Sendable {
    var pattern: DevicePattern
    var facingMode: FacingMode?
    var location: DeviceLocation?
    var polarPattern: PolarPattern?
    var name: String?

    /// The clockwise quarter turns, 0 to 3.
    var mountRotation: Int?
    var isHidden: Bool?

    init(pattern: DevicePattern) { self.pattern = pattern }

    func apply(to device: inout SourceDevice) {
        if let facingMode { device.info.facingMode = facingMode }
        if let location { device.info.location = location }
        if let name { device.info.name = name }
        switch device.capabilities {
        case .video(var capabilities):
            guard let mountRotation else { return }
            capabilities.mountRotation = mountRotation
            device.capabilities = .video(capabilities)
        case .audio(var capabilities):
            guard let polarPattern else { return }
            capabilities.polarPatterns = [polarPattern]
            device.capabilities = .audio(capabilities)
        }
    }
}

/// A pattern of devices. All of its fields must match.
struct DevicePattern: Hashable, Sendable {
    var mediaType: MediaType?

    /// The vendor ID, four hexadecimal digits in lower case.
    var vendor: String?
    var product: String?
    var serial: NamePattern?
    var name: NamePattern?
    var id: NamePattern?

    var isEmpty: Bool { self == DevicePattern() }

    /// Returns whether a device matches. The hardware's own identity counts, and not a name from another rule.
    func matches(_ device: SourceDevice) -> Bool {
        let identity = device.identity
        if let mediaType, device.info.mediaType != mediaType { return false }
        if let vendor, identity.vendor?.lowercased() != vendor { return false }
        if let product, identity.product?.lowercased() != product { return false }
        if let serial, identity.serial.map(serial.matches) != true { return false }
        if let name, !name.matches(identity.name) { return false }
        if let id, !id.matches(device.info.id) { return false }
        return true
    }
}

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

/// A pattern for names, in which `*` matches any text and `?` any character. It ignores case.
struct NamePattern: Hashable, Sendable {
    private let pattern: [Character]

    init(_ text: String) { pattern = Array(text.lowercased()) }

    func matches(_ text: String) -> Bool {
        let text = Array(text.lowercased())
        var (index, position) = (0, 0)
        // The last star and the text position that it has reached. If the rest does not match, the star covers one more
        // character.
        var star: (index: Int, position: Int)?
        while position < text.count {
            if index < pattern.count, pattern[index] == "*" {
                star = (index, position)
                index += 1
            } else if index < pattern.count, pattern[index] == "?" || pattern[index] == text[position] {
                index += 1
                position += 1
            } else if let last = star {
                star = (last.index, last.position + 1)
                (index, position) = (last.index + 1, last.position + 1)
            } else {
                return false
            }
        }
        return pattern[index...].allSatisfy { $0 == "*" }
    }
}
