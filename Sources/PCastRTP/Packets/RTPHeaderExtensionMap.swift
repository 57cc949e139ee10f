/// The ids negotiated with one peer for its header extensions (RFC 8285, section 5).
public struct RTPHeaderExtensionMap: Hashable, Sendable {
    /// Whether elements that do not fit the one-byte form may be sent in the two-byte form
    /// (`a=extmap-allow-mixed`); if not, they are left out.
    public var allowsTwoByte = false

    /// The id of each extension, by its raw value; 0 is none.
    private var ids = SIMD16<UInt8>(repeating: 0)

    public init() {}

    /// The id negotiated for the extension, nil for none.
    public func id(of extension: RTPHeaderExtension) -> UInt8? {
        let id = ids[Int(`extension`.rawValue)]
        return id == 0 ? nil : id
    }

    /// The extension that has the id. Setting takes the id from whichever had it; id 0 is none's and stays so.
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
