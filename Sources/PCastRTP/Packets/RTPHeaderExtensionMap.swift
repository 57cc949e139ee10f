/// The header extension ids that were negotiated with a peer (RFC 8285, section 5).
public struct RTPHeaderExtensionMap: Hashable, Sendable {
    /// Whether elements with two-byte headers may be sent (`a=extmap-allow-mixed`); otherwise elements that need them
    /// are omitted.
    public var allowsTwoByte = false

    /// The id of each extension by its raw value; 0 for none.
    private var ids = SIMD16<UInt8>(repeating: 0)

    /// Creates a map without ids.
    public init() {}

    /// Returns the id of an extension; nil if none was negotiated.
    public func id(of extension: RTPHeaderExtension) -> UInt8? {
        let id = ids[Int(`extension`.rawValue)]
        return id == 0 ? nil : id
    }

    /// The extension with an id. Assigning removes the id from the extension that had it; id 0 is ignored.
    public subscript(id: UInt8) -> RTPHeaderExtension? {
        get {
            guard id != 0 else { return nil }
            for index in 0..<ids.scalarCount where ids[index] == id {
                return RTPHeaderExtension(rawValue: UInt8(index))
            }
            return nil
        }
        set {
            guard id != 0 else { return }
            ids.replace(with: 0, where: ids .== id)
            if let newValue { ids[Int(newValue.rawValue)] = id }
        }
    }
}
