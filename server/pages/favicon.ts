/** The logo of the page header, in colours that are visible on light and dark tabs. */
export const favicon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">' +
  '<rect width="24" height="24" rx="5" fill="#9a3412"/>' +
  '<path d="M5 5.5h3.2v11H5zM9.8 7.2h2.4v9.3H9.8zM14 7.6l2.9-.8 2.5 9.3-2.9.8z" fill="#fff"/>' +
  '<path d="M4 18.9h16" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>'
