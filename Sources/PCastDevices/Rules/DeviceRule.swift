import PCastCore
import PCastYAML

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
    /// Returns the rules of a file. Throws `YAMLError`.
    static func all(of file: YAMLValue) throws(YAMLError) -> [DeviceRule] {
        var rules: [DeviceRule] = []
        for member in try file.members("a file of device rules") {
            guard member.name == "rules" else { throw member.unknown(["rules"]) }
            for element in try member.elements() { rules.append(try DeviceRule(element)) }
        }
        return rules
    }

    private init(_ value: YAMLValue) throws(YAMLError) {
        let members = try value.members("a rule")
        guard let match = members.first(where: { $0.name == "match" }) else {
            throw YAMLError(line: value.line, reason: "a rule requires “match”, which selects its devices")
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

    private func require(_ mediaType: MediaType, for member: YAMLMember) throws(YAMLError) {
        guard pattern.mediaType == nil || pattern.mediaType == mediaType else {
            throw member.refusal("applies to \(mediaType.rawValue) devices, but the rule is for another media type")
        }
    }
}

extension DevicePattern {
    fileprivate init(_ match: YAMLMember) throws(YAMLError) {
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

extension YAMLMember {
    /// Returns the value as one of the accepted words. Throws `YAMLError`.
    fileprivate func word<Word: RawRepresentable<String>>(_ accepted: [Word]) throws(YAMLError) -> Word {
        guard case .scalar(let text, _) = value.content, let word = accepted.first(where: { $0.rawValue == text })
        else {
            throw refusal("must be one of \(accepted.map(\.rawValue).joined(separator: ", "))")
        }
        return word
    }

    /// Returns a rotation of 0, 90, 180 or 270 degrees as quarter turns. Throws `YAMLError`.
    fileprivate func quarterTurns() throws(YAMLError) -> Int {
        guard case .scalar(let text, isQuoted: false) = value.content,
            let turns = ["0", "90", "180", "270"].firstIndex(of: text)
        else { throw refusal("must be a clockwise rotation in degrees: 0, 90, 180 or 270") }
        return turns
    }

    /// Returns the value as a USB vendor or product ID in lower case. Throws `YAMLError`.
    fileprivate func hexadecimal() throws(YAMLError) -> String {
        guard case .scalar(let text, _) = value.content, text.utf8.count == 4, UInt16(text, radix: 16) != nil,
            !text.hasPrefix("+")
        else { throw refusal("must be four hexadecimal digits, as lsusb prints them, such as 046d") }
        return text.lowercased()
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
