import Foundation

extension String {
    /// The text as it is written in the fragment of an address.
    var addingPercentEncoding: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? self
    }
}
