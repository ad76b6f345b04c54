/** @param {string} language @returns {Promise<{default: any}>} */
export const loadGrammar = language => import(`/vendor/highlight/${language}.js`);
